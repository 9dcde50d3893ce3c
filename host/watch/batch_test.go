package watch_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"waymark/host/watch"
)

func events(owners ...string) watch.Batch {
	return watch.Batch{Owners: owners, Reason: watch.ReasonEvents}
}

func all(reason string) watch.Batch { return watch.Batch{All: true, Reason: reason} }

func TestBatchAfterQuiet(t *testing.T) {
	withFake(t, watch.Options{}, func(t *testing.T, b *bench) {
		b.set("a", watch.Dir{Path: b.dir, Names: []string{"AGENTS.md"}})
		b.n.send(b.path("AGENTS.md"), watch.OpWrite)
		b.wantAfter(15*time.Millisecond, events("a"))
		b.wantNone(50 * time.Second)
	})
}

// TestBatchOfASave sends what editors do to a file, a few milliseconds apart.
func TestBatchOfASave(t *testing.T) {
	type step struct {
		name string
		op   watch.Op
	}
	for name, steps := range map[string][]step{
		"truncate and write": {{"AGENTS.md", watch.OpWrite}, {"AGENTS.md", watch.OpWrite}, {"AGENTS.md", watch.OpChmod}},
		"write and rename": {
			{".AGENTS.md.swp", watch.OpCreate}, {".AGENTS.md.swp", watch.OpWrite},
			{".AGENTS.md.swp", watch.OpRename}, {"AGENTS.md", watch.OpCreate},
		},
		"back up and write": {
			{"AGENTS.md", watch.OpRename}, {"AGENTS.md~", watch.OpCreate}, {"AGENTS.md", watch.OpCreate},
			{"AGENTS.md", watch.OpWrite}, {"AGENTS.md", watch.OpChmod}, {"AGENTS.md~", watch.OpRemove},
		},
	} {
		t.Run(name, func(t *testing.T) {
			withFake(t, watch.Options{}, func(t *testing.T, b *bench) {
				b.set("a", watch.Dir{Path: b.dir, Names: []string{"AGENTS.md"}})
				for _, s := range steps {
					b.n.send(b.path(s.name), s.op)
					time.Sleep(4 * time.Millisecond)
				}
				b.want(events("a"))
				b.wantNone(50 * time.Second)
			})
		})
	}
}

func TestBatchDoesNotWaitForEver(t *testing.T) {
	withFake(t, watch.Options{Quiet: 20 * time.Millisecond, MaxWait: 100 * time.Millisecond}, func(t *testing.T, b *bench) {
		b.set("a", watch.Dir{Path: b.dir})
		go func() {
			for range 100 { // never quiet for a second
				b.n.send(b.path("log"), watch.OpWrite)
				time.Sleep(10 * time.Millisecond)
			}
		}()
		b.wantAfter(100*time.Millisecond, events("a"))
		start, last, batches := time.Now(), time.Now(), 1
		for ; ; batches++ {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			got, err := b.Wait(ctx)
			cancel()
			if err != nil {
				break
			}
			if last = time.Now(); got.All {
				t.Fatalf("got %+v after %v", got, time.Since(start))
			}
		}
		// The last event was sent at 990 ms, and the first batch came at 100.
		if batches < 9 || batches > 11 || last.Sub(start) < 890*time.Millisecond {
			t.Errorf("a second without quiet made %d batches, the last after %v", batches, last.Sub(start))
		}
		b.n.send(b.path("log"), watch.OpWrite)
		b.wantAfter(20*time.Millisecond, events("a"))
	})
}

func TestNoiseMakesNoBatch(t *testing.T) {
	withFake(t, watch.Options{}, func(t *testing.T, b *bench) {
		b.set("a", watch.Dir{Path: b.dir, Names: []string{"AGENTS.md"}})
		for i := range 20_000 {
			b.n.send(b.path(fmt.Sprint("noise", i)), watch.OpCreate)
		}
		b.wantNone(50 * time.Second)
	})
}

func TestWhomAnEventConcerns(t *testing.T) {
	withFake(t, watch.Options{}, func(t *testing.T, b *bench) {
		b.mkdir("skills", "foo")
		b.set("name", watch.Dir{Path: b.dir, Names: []string{"AGENTS.md", "CLAUDE.md"}})
		b.set("any", watch.Dir{Path: b.path("skills")})
		b.set("deep", watch.Dir{Path: b.path("skills", "foo"), Names: []string{"SKILL.md"}})
		b.set("itself", watch.Dir{Path: b.path("skills", "foo"), Names: []string{}})
		for _, c := range []struct {
			path string
			op   watch.Op
			want []string
		}{
			{b.path("AGENTS.md"), watch.OpWrite, []string{"name"}},
			{b.path("CLAUDE.md"), watch.OpChmod, []string{"name"}},
			{b.path("agents.md"), watch.OpWrite, nil},
			{b.path("skills", "README"), watch.OpCreate, []string{"any"}},
			{b.path("skills", "foo", "SKILL.md"), watch.OpWrite, []string{"deep"}},
			{b.path("skills", "foo", "other"), watch.OpWrite, nil},
			{b.path("skills", "foo"), watch.OpChmod, []string{"any", "deep", "itself"}},
			{b.path("skills"), watch.OpRename, []string{"any", "deep", "itself"}},
			{b.path("skills"), watch.OpWrite, nil}, // as kqueue says of a directory
			{b.dir, watch.OpChmod, []string{"any", "deep", "itself", "name"}},
			{"/", watch.OpChmod, []string{"any", "deep", "itself", "name"}},
			{"", watch.OpWrite, nil},
			{"AGENTS.md", watch.OpWrite, nil},
		} {
			b.n.send(c.path, c.op)
			if c.want == nil {
				b.wantNone(time.Second)
			} else {
				b.want(events(c.want...))
			}
		}
	})
}

func TestBatchesAreMerged(t *testing.T) {
	withFake(t, watch.Options{Recheck: 10 * time.Second}, func(t *testing.T, b *bench) {
		b.set("a", watch.Dir{Path: b.dir, Names: []string{"a"}})
		b.set("b", watch.Dir{Path: b.dir, Names: []string{"b"}})
		b.set("gone", watch.Dir{Path: b.dir, Names: []string{"gone"}})
		for range 3 {
			for _, name := range []string{"b", "gone", "a"} {
				b.n.send(b.path(name), watch.OpWrite)
				time.Sleep(time.Second)
			}
		}
		b.Set("gone", nil)
		b.want(events("a", "b"))

		time.Sleep(time.Minute) // six re-checks
		b.n.send(b.path("a"), watch.OpWrite)
		time.Sleep(time.Second)
		b.want(all(watch.ReasonEvents)) // the weightier reason
		b.wantNone(time.Second)
	})
}

// TestOwnerWithoutABatch removes the only owner of a batch in each stage.
func TestOwnerWithoutABatch(t *testing.T) {
	withFake(t, watch.Options{}, func(t *testing.T, b *bench) {
		for _, stage := range []time.Duration{time.Millisecond, time.Second} {
			b.set("a", watch.Dir{Path: b.dir})
			b.n.send(b.path("x"), watch.OpWrite)
			time.Sleep(stage)
			b.Set("a", nil)
			b.wantNone(time.Second)
		}
	})
}

// TestBatchWaitsForTheKeeper takes long to add a watch: what it finds belongs
// to the batch that is being made, unless it takes too long.
func TestBatchWaitsForTheKeeper(t *testing.T) {
	withFake(t, watch.Options{}, func(t *testing.T, b *bench) {
		b.set("a", watch.Dir{Path: b.path("x", "y")})
		for _, c := range []struct{ adding, want time.Duration }{
			{40 * time.Millisecond, 95 * time.Millisecond}, // for each of two directories, and then quiet
			{100 * time.Millisecond, 150 * time.Millisecond},
		} {
			b.n.decide(func(string) error {
				time.Sleep(c.adding)
				return nil
			})
			b.mkdir("x", "y")
			b.n.send(b.path("x"), watch.OpCreate)
			b.wantAfter(c.want, events("a"))
			time.Sleep(time.Second)
			if err := os.RemoveAll(b.path("x")); err != nil {
				t.Fatal(err)
			}
			b.n.send(b.path("x"), watch.OpRemove)
			time.Sleep(time.Second)
			b.want(events("a"))
		}
	})
}
