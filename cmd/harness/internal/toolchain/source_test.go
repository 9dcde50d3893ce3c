package toolchain_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"waymark/cmd/harness/internal/toolchain"
	"waymark/host/watch"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestNext: source counts, what isn't source doesn't, and neither does what is
// written again as it was.
func TestNext(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir+"/main.go", "one")
	w, err := toolchain.Watch(dir, watch.Options{})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { done <- w.Run(ctx) }()
	next := func(what string) {
		t.Helper()
		if err := w.Next(ctx); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	next("the first time")
	for _, path := range []string{"/main.wasm", "/.git/index", "/node_modules/a/b.js", "/main.go~"} {
		write(t, dir+path, "x")
	}
	write(t, dir+"/main.go", "one")
	write(t, dir+"/main.go", "two")
	next("an edit")
	write(t, dir+"/deep/er/more.go", "new directory")
	next("a file in a new directory")
	write(t, dir+"/deep/er/more.go", "edited")
	next("an edit in it")
	if err := os.RemoveAll(dir + "/deep"); err != nil {
		t.Fatal(err)
	}
	next("what has gone")

	// With nothing but noise it waits.
	write(t, dir+"/main.wasm", "again")
	waiting, stop := context.WithCancel(ctx)
	stop()
	if err := w.Next(waiting); !errors.Is(err, context.Canceled) {
		t.Errorf("without a change: %v", err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := errors.Join(w.Close(), w.Close()); err != nil {
		t.Error(err)
	}
	if err := w.Next(t.Context()); !errors.Is(err, watch.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// TestFixtures: what ends in .txtar counts, nothing else, and the directory may
// come later.
func TestFixtures(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w, err := toolchain.Fixtures(dir+"/testdata", watch.Options{})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { done <- w.Run(ctx) }()
	next := func(what string) {
		t.Helper()
		if err := w.Next(ctx); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	next("the first time")
	write(t, dir+"/testdata/a.txtar", "one")
	next("the first fixture")
	write(t, dir+"/testdata/notes.md", "none")
	write(t, dir+"/main.go", "none")
	write(t, dir+"/testdata/a.txtar", "two")
	next("an edit")
	if err := os.Remove(dir + "/testdata/a.txtar"); err != nil {
		t.Fatal(err)
	}
	next("what has gone")
	write(t, dir+"/testdata/notes.md", "again")
	waiting, stop := context.WithCancel(ctx)
	stop()
	if err := w.Next(waiting); !errors.Is(err, context.Canceled) {
		t.Errorf("without a change: %v", err)
	}
	cancel()
	if err := errors.Join(<-done, w.Close()); err != nil {
		t.Error(err)
	}
	if _, err := toolchain.Fixtures(dir+"/nowhere/testdata", watch.Options{}); err == nil {
		t.Error("in a directory that isn't there: no error")
	}
}
