package host_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"waymark/host"
	"waymark/host/watch"
	"waymark/test/contracts/vfstest"
)

// noLeaks fails the test if goroutines of this repository or of wazero that
// weren't there before are left at its end. Goroutines that are about to end
// get the chance: the count is taken again after each yield. It panics in a parallel test,
// for which those of others would be leaks.
func noLeaks(t *testing.T) {
	t.Helper()
	t.Setenv("WAYMARK_TEST_ALONE", t.Name()) // nobody reads it; package testing wants no parallel test to set one
	t.Cleanup(func() {
		deadline := time.Now().Add(timeout) // only what fails waits that long
		for {
			stacks := ours()
			if stacks == "" {
				return
			}
			if time.Now().After(deadline) {
				t.Errorf("goroutines are left:\n%s", stacks)
				return
			}
			runtime.Gosched()
		}
	})
}

// ours returns the stacks of goroutines that run this repository's code,
// without those that run tests.
func ours() string {
	buf := make([]byte, 1<<20)
	buf = buf[:runtime.Stack(buf, true)]
	var found []string
	for _, stack := range strings.Split(string(buf), "\n\n") {
		if strings.Contains(stack, "waymark/") && !strings.Contains(stack, "testing.tRunner") && !strings.Contains(stack, "testing.(*M)") {
			found = append(found, stack)
		}
	}
	return strings.Join(found, "\n\n")
}

func unloaded(t *testing.T, opts host.Options) *host.Host {
	t.Helper()
	h, err := host.New(testOptions(opts))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestCloseTwiceAndBeforeAnything(t *testing.T) {
	noLeaks(t)
	h := unloaded(t, host.Options{Builtin: module(builtin(t)), Roots: []host.RootSpec{{Path: t.TempDir()}}})
	if err := errors.Join(h.Close(), h.Close()); err != nil {
		t.Error(err)
	}
	if err := h.Load(t.Context()); err == nil {
		t.Error("a closed Host loads modules")
	}
	if _, err := h.Refresh(t.Context()); err == nil || err.Error() != "host closed" {
		t.Errorf("refresh after close: %v", err)
	}
	if err := h.Run(t.Context()); err != nil {
		t.Errorf("run after close: %v", err)
	}
	if s := h.Current(); s.Version != 0 {
		t.Errorf("version %d", s.Version)
	}
	_ = h.Status()
}

func TestZeroOptions(t *testing.T) {
	noLeaks(t)
	h := newHost(t, host.Options{})
	r := refresh(t, h)
	if !r.Changed || r.Snapshot.Version != 1 || len(r.Snapshot.Resources) != 0 || len(r.Outcomes) != 0 {
		t.Errorf("%+v", r)
	}
	if r = refresh(t, h); r.Changed {
		t.Error("changed again")
	}
	if err := h.Accepted(t.Context(), 1); err == nil {
		t.Error("accepted by nobody")
	}
}

// TestCloseAnyTime: Close ends Load, Refresh and Run at whatever point they
// are, and waits for them.
func TestCloseAnyTime(t *testing.T) {
	noLeaks(t)
	dir := vfstest.Build(t, issueTree())
	opts := host.Options{Builtin: module(builtin(t)), Roots: []host.RootSpec{{Path: dir}}, Watch: watch.Options{Recheck: time.Millisecond}}
	t.Run("during Load", func(t *testing.T) {
		h := unloaded(t, opts)
		loading := make(chan error, 1)
		go func() { loading <- h.Load(t.Context()) }()
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		if err := <-loading; err != nil && err.Error() != "host closed" {
			t.Errorf("load: %v", err)
		}
	})
	t.Run("during Refresh", func(t *testing.T) {
		h := newHost(t, opts)
		started, ended := make(chan struct{}), make(chan error)
		go func() {
			close(started)
			for {
				if _, err := h.Refresh(context.Background()); err != nil {
					ended <- err
					return
				}
			}
		}()
		<-started
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		if err := <-ended; err.Error() != "host closed" {
			t.Errorf("refresh: %v", err)
		}
	})
	t.Run("during Run", func(t *testing.T) {
		h := newHost(t, opts)
		ended := make(chan error)
		go func() { ended <- h.Run(context.Background()) }()
		if s, err := h.Wait(t.Context(), 0); err != nil || len(s.Resources) == 0 {
			t.Errorf("%+v, %v", s, err)
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		if err := <-ended; err != nil {
			t.Errorf("run: %v", err)
		}
	})
}

func TestRunEndsWithItsContext(t *testing.T) {
	noLeaks(t)
	dir := vfstest.Build(t, []string{"AGENTS.md = one"})
	h := newHost(t, host.Options{Builtin: module(builtin(t)), Roots: []host.RootSpec{{Path: dir}}, Watch: watch.Options{Recheck: time.Millisecond}})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- h.Run(ctx) }()
	first, err := h.Wait(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "AGENTS.md"), "another")
	second, err := h.Wait(t.Context(), first.Version)
	if err != nil || string(second.Resources[0].Payload) != "another" {
		t.Errorf("%+v, %v", second, err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("run: %v", err)
	}
	if report := refresh(t, h); report.Changed {
		t.Error("a refresh after Run finds a change")
	}
}

// TestCanceledRefresh publishes nothing.
func TestCanceledRefresh(t *testing.T) {
	noLeaks(t)
	dir := vfstest.Build(t, issueTree())
	h := newHost(t, host.Options{Builtin: module(builtin(t)), Roots: []host.RootSpec{{Path: dir}}})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := h.Refresh(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if v := h.Current().Version; v != 0 {
		t.Errorf("version %d", v)
	}
	if n := len(refresh(t, h).Snapshot.Resources); n != 7 {
		t.Errorf("%d resources afterwards", n)
	}
}

func TestRequiredRoot(t *testing.T) {
	noLeaks(t)
	dir := vfstest.Build(t, []string{"pipe |", "loop -> loop", "AGENTS.md = x"})
	tests := []struct{ path, want string }{
		{"missing", "root $ROOT/missing does not exist: name an existing directory"},
		{"AGENTS.md/below", "root $ROOT/AGENTS.md/below can't be used: open root $ROOT/AGENTS.md/below: not a directory"},
		{"loop", "root $ROOT/loop can't be used: open root $ROOT/loop: too many levels of symbolic links"},
		{"pipe", "root $ROOT/pipe can't be used: open root $ROOT/pipe: input/output error: not a regular file: a root is a directory or a regular file"},
	}
	for _, tt := range tests {
		_, err := host.New(host.Options{Roots: []host.RootSpec{{Path: dir}, {Path: filepath.Join(dir, tt.path)}}})
		if want := strings.ReplaceAll(tt.want, "$ROOT", dir); err == nil || err.Error() != want {
			t.Errorf("%s: %v\nwant %s", tt.path, err, want)
		}
	}
	if _, err := host.New(host.Options{Roots: []host.RootSpec{{Path: dir}}, Exclude: []string{"["}}); err == nil || !strings.Contains(err.Error(), "exclude") {
		t.Errorf("a bad pattern: %v", err)
	}
}

// TestRootsComeAndGo: roots are looked at as soon as they exist, under
// whatever shape they have then.
func TestRootsComeAndGo(t *testing.T) {
	noLeaks(t)
	dir := vfstest.Build(t, []string{"other/AGENTS.md = other", "old/AGENTS.md = old", "a file = f"})
	root := filepath.Join(dir, "root")
	h := newHost(t, host.Options{Builtin: module(builtin(t)), Roots: []host.RootSpec{{Path: root, Optional: true, Source: true}}})
	steps := []struct {
		name string
		do   func() error
		want string
	}{
		{"missing", func() error { return nil }, ""},
		{"made", func() error { return os.Mkdir(root, 0o755) }, ""},
		{"filled", func() error { return os.WriteFile(filepath.Join(root, "AGENTS.md"), []byte("first"), 0o600) }, "root/AGENTS.md first"},
		{"moved away", func() error { return os.Rename(root, root+"2") }, ""},
		{"a link to another", func() error { return os.Symlink("other", root) }, "other/AGENTS.md other"},
		{"the link's target renamed", func() error { return os.Rename(filepath.Join(dir, "other"), filepath.Join(dir, "third")) }, ""},
		{"linked to the same under its new name", func() error {
			return errors.Join(os.Remove(root), os.Symlink("third", root))
		}, "third/AGENTS.md other"},
		{"a directory again", func() error { return errors.Join(os.Remove(root), os.Rename(filepath.Join(dir, "old"), root)) }, "root/AGENTS.md old"},
		{"a file", func() error { return errors.Join(os.Rename(root, root+"3"), os.WriteFile(root, nil, 0o600)) }, ""},
		{"back", func() error { return errors.Join(os.Remove(root), os.Rename(root+"3", root)) }, "root/AGENTS.md old"},
	}
	version := uint64(0)
	last := "none yet"
	for _, step := range steps {
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		report := refresh(t, h)
		got := ""
		for _, r := range report.Snapshot.Resources {
			got += relative(r.Source, dir) + " " + string(r.Payload)
			if r.SourcePath == "" {
				t.Errorf("%s: no source path", step.name)
			}
		}
		if got != step.want {
			t.Errorf("%s: found %q, want %q", step.name, got, step.want)
		}
		if got != last {
			version++
		}
		if last = got; report.Snapshot.Version != version {
			t.Errorf("%s: version %d, want %d", step.name, report.Snapshot.Version, version)
		}
	}
}

// TestFileRoot: the one file of a root may become something else.
func TestFileRoot(t *testing.T) {
	noLeaks(t)
	dir := vfstest.Build(t, []string{"AGENTS.md = one"})
	path := filepath.Join(dir, "AGENTS.md")
	h := newHost(t, host.Options{Builtin: module(builtin(t)), Roots: []host.RootSpec{{Path: path}}})
	check := func(what, want string) {
		t.Helper()
		if got := strings.Join(lines(refresh(t, h).Snapshot.Resources, dir), ", "); got != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	check("a file", "instruction_file:AGENTS.md ok")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	check("nothing", "")
	put(t, filepath.Join(path, "CLAUDE.md"), "x")
	check("a directory", "instruction_file:AGENTS.md/CLAUDE.md ok")
	if err := errors.Join(os.RemoveAll(path), os.WriteFile(path, []byte("two"), 0o600)); err != nil {
		t.Fatal(err)
	}
	check("a file again", "instruction_file:AGENTS.md ok")
}
