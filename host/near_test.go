package host_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"waymark/host"
	"waymark/host/watch"
	"waymark/test/contracts/vfstest"
	"waymark/test/testenv"
)

// noEvents makes the system silent, and leaves it to hints where to look.
var noEvents = watch.Options{
	Recheck: time.Hour, SilentRecheck: time.Hour, Poll: time.Hour,
	NewBackend: func() (watch.Backend, error) { return nil, errors.New("none in this test") },
}

// fill makes a root large, so that hints have only a part of it checked at first.
func fill(t *testing.T, dir string) {
	t.Helper()
	for i := range 700 {
		path := filepath.Join(dir, fmt.Sprintf(".github/skills/filler-%03d/SKILL.md", i))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestWholeCheck: a hint has all of a small root checked at once.
func TestWholeCheck(t *testing.T) {
	dir := vfstest.Build(t, []string{"AGENTS.md = before", "skills/one/SKILL.md = text"})
	texts := make(chan string, 16)
	h := newHost(t, host.Options{Builtin: module(builtin(t)), Roots: []host.RootSpec{{Path: dir}}, Watch: noEvents, Observe: func(r *host.Report) {
		for _, o := range r.Outcomes {
			for _, c := range o.Candidates {
				if filepath.Base(c.Source) == "AGENTS.md" {
					texts <- string(c.Payload)
				}
			}
		}
	}})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	if got := <-texts; got != "before" {
		t.Errorf("at the start: %q", got)
	}
	if err := os.WriteFile(filepath.Join(dir, "AGENTS.md"), []byte("after"), 0o600); err != nil {
		t.Fatal(err)
	}
	h.Hint(filepath.Join(dir, "skills/one/SKILL.md")) // of something else
	if got := <-texts; got != "after" {
		t.Errorf("after the hint: %q", got)
	}
	cancel()
	if err := errors.Join(<-ended, h.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestHintsThatLie: whatever a hint says, and of whichever edits there is none, soon
// after it the snapshot is what a clean start would find.
func TestHintsThatLie(t *testing.T) {
	noLeaks(t)
	g := generator{testenv.Rand(t)}
	sequences, steps := max(1, 2/testenv.RaceShare), max(5, 12/testenv.RaceShare)
	if testenv.Long() {
		sequences, steps = 50, 200
	}
	clean := newClean(t)
	for n := range sequences {
		dir := vfstest.Build(t, g.tree())
		if n%2 == 0 {
			fill(t, dir)
		}
		e := editor{g, dir, filepath.Join(filepath.Dir(dir), "out"), nil}
		t.Cleanup(func() { vfstest.Reopen(dir) })
		roots := []host.RootSpec{{Path: dir}, {Path: filepath.Join(dir, "skills"), Optional: true}}
		h := newHost(t, host.Options{Builtin: module(builtin(t)), Roots: roots, Watch: noEvents})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- h.Run(ctx) }()
		for range steps {
			for range 1 + g.IntN(3) {
				e.edit()
			}
			// That of the root has both roots looked at; the others say where to begin.
			h.Hint(filepath.Join(dir, "skills", e.somewhere()), filepath.Join(dir, e.somewhere()))
			want := spell(clean.resources(t, roots), dir)
			limit, stop := context.WithTimeout(t.Context(), timeout)
			for version := uint64(0); ; {
				s, err := h.Wait(limit, version)
				if err != nil {
					compare(t, "resources", spell(s.Resources, dir), want)
					t.Fatalf("after\n%s", quoteLines(e.done[max(0, len(e.done)-20):]))
				}
				if version = s.Version; s.SnapshotError != "" && slices.Equal(spell(s.Resources, dir), want) {
					break
				}
			}
			stop()
		}
		cancel()
		if err := errors.Join(<-ended, h.Close()); err != nil {
			t.Fatal(err)
		}
	}
}
