package watch_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"waymark/host/watch"
)

// wantPaths takes the next batch, which must name just these paths.
func (b *bench) wantPaths(want ...string) {
	b.t.Helper()
	got, err := b.Wait(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	if !slices.Equal(got.Paths, want) {
		b.t.Fatalf("the batch names %q, want %q", got.Paths, want)
	}
}

// TestPaths wants a batch to name what happened, and only when nothing else can
// have happened.
func TestPaths(t *testing.T) {
	withFake(t, watch.Options{}, func(t *testing.T, b *bench) {
		b.mkdir("skills", "foo")
		b.Set("a", []watch.Dir{{Path: b.dir, Names: []string{"AGENTS.md"}}, {Path: b.path("skills", "foo"), Names: []string{"SKILL.md"}}})
		b.wantPaths() // watches were added
		b.n.send(b.path("noise"), watch.OpWrite)
		b.n.send(b.path("skills", "foo", "SKILL.md"), watch.OpWrite)
		b.n.send(b.path("AGENTS.md"), watch.OpWrite)
		b.n.send(b.path("AGENTS.md"), watch.OpChmod)
		b.wantPaths(b.path("AGENTS.md"), b.path("skills", "foo", "SKILL.md"))
		b.n.send(b.path("skills"), watch.OpChmod)
		b.wantPaths(b.path("skills"))

		// Batches that are merged name all, or nothing.
		for _, name := range []string{"AGENTS.md", "skills/foo/SKILL.md"} {
			b.n.send(b.path(name), watch.OpWrite)
			time.Sleep(time.Second)
		}
		b.wantPaths(b.path("AGENTS.md"), b.path("skills", "foo", "SKILL.md"))
		b.n.send(b.path("AGENTS.md"), watch.OpWrite)
		time.Sleep(2 * time.Minute) // a re-check
		b.wantPaths()
		b.n.send(b.path("AGENTS.md"), watch.OpWrite)
		b.n.fail(watch.ErrOverflow)
		b.wantPaths()
		b.n.send(b.path("AGENTS.md"), watch.OpWrite)
		b.Set("a", []watch.Dir{{Path: b.dir, Names: []string{"AGENTS.md", "CLAUDE.md"}}})
		b.wantPaths()
		b.n.send(b.path("AGENTS.md"), watch.OpWrite)
		b.wantPaths(b.path("AGENTS.md"))
	})
}

// TestGlobs: what matches no pattern wakes nobody, and what does is named.
func TestGlobs(t *testing.T) {
	withFake(t, watch.Options{}, func(t *testing.T, b *bench) {
		b.set("a", watch.Dir{Path: b.dir, Names: []string{}, Globs: []string{".roorules-*", "x[0-9]?"}})
		b.set("b", watch.Dir{Path: b.dir, Names: []string{"AGENTS.md"}})
		for _, name := range []string{"main.go", "roorules-a", ".roorules", "x1", "xab", "a.roorules-b"} {
			b.n.send(b.path(name), watch.OpWrite)
			b.n.send(b.path(name), watch.OpCreate)
			b.n.send(b.path(name), watch.OpRemove)
		}
		b.wantNone(time.Second)
		for _, name := range []string{".roorules-", ".roorules-code", "x1b"} {
			b.n.send(b.path(name), watch.OpWrite)
			b.want(watch.Batch{Owners: []string{"a"}, Reason: watch.ReasonEvents, Paths: []string{b.path(name)}})
		}
		b.Set("a", []watch.Dir{{Path: b.dir, Names: []string{}, Globs: []string{".roorules-*"}}}) // less
		b.n.send(b.path("x1b"), watch.OpWrite)
		b.wantNone(time.Second)
		b.Set("a", []watch.Dir{{Path: b.dir, Names: []string{}, Globs: []string{".roorules-*", "y*"}}})
		b.want(watch.Batch{Owners: []string{"a"}, Reason: watch.ReasonAdded})
		b.Set("a", nil)
		b.n.send(b.path(".roorules-code"), watch.OpWrite)
		b.wantNone(time.Second)
	})
}

func TestTooManyPaths(t *testing.T) {
	withFake(t, watch.Options{}, func(t *testing.T, b *bench) {
		b.set("a", watch.Dir{Path: b.dir})
		for _, c := range []struct{ files, named int }{{64, 64}, {65, 0}, {1000, 0}, {1, 1}} {
			for i := range c.files {
				b.n.send(b.path(fmt.Sprint(i)), watch.OpWrite)
			}
			got, err := b.Wait(t.Context())
			if err != nil || len(got.Paths) != c.named {
				t.Errorf("%d files: %d paths, %v", c.files, len(got.Paths), err)
			}
		}
	})
}
