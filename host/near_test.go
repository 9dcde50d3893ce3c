package host_test

import (
	"context"
	"errors"
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
	for range sequences {
		dir := vfstest.Build(t, g.tree())
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
