package watch_test

import (
	"testing"
	"time"

	"waymark/host/watch"
)

const (
	finish = watch.OpFinish
	moved  = watch.OpCreate | watch.OpFinish
)

func msec(n int) time.Duration { return time.Duration(n) * time.Millisecond }

// TestFinished sends what saves look like where the system says when a file is
// finished, and wants each batch when nothing may be half done any more.
func TestFinished(t *testing.T) {
	type step struct {
		after int // the step before, in milliseconds; with 0 they are read at once
		name  string
		op    watch.Op
	}
	for name, c := range map[string]struct {
		steps []step
		want  []int // when batches come, in milliseconds
	}{
		"in place":                   {[]step{{0, "f", watch.OpWrite}, {0, "f", watch.OpWrite}, {2, "f", finish}}, []int{2}},
		"through a map":              {[]step{{0, "f", finish}}, []int{0}},
		"one that isn't closed":      {[]step{{0, "f", watch.OpWrite}, {4, "f", watch.OpWrite}}, []int{19}},
		"closed late":                {[]step{{0, "f", watch.OpWrite}, {14, "f", finish}}, []int{14}},
		"closed too late":            {[]step{{0, "f", watch.OpWrite}, {20, "f", finish}}, []int{15, 35}},
		"a new file":                 {[]step{{0, "f", watch.OpCreate}, {0, "f", watch.OpWrite}, {1, "f", finish}}, []int{1}},
		"a rename over":              {[]step{{0, "tmp", watch.OpCreate}, {0, "tmp", finish}, {1, "tmp", watch.OpRename}, {0, "f", moved}}, []int{1}},
		"a directory moved":          {[]step{{0, "d", moved}}, []int{0}},
		"a hard link over":           {[]step{{0, "f", watch.OpRemove}, {0, "f", watch.OpCreate}}, []int{15}},
		"a deletion":                 {[]step{{0, "f", watch.OpRemove}}, []int{15}},
		"a chmod":                    {[]step{{0, "f", watch.OpChmod}}, []int{15}},
		"a chmod after":              {[]step{{0, "f", watch.OpWrite}, {0, "f", finish}, {1, "f", watch.OpChmod}}, []int{0, 16}},
		"a backup by rename":         {[]step{{0, "f", watch.OpRename}, {0, "f~", moved}, {1, "f", watch.OpCreate}, {1, "f", watch.OpWrite}, {1, "f", finish}}, []int{3}},
		"a backup that stays":        {[]step{{0, "f", watch.OpRename}, {0, "f~", moved}}, []int{15}},
		"removed and made again":     {[]step{{0, "f", watch.OpRemove}, {1, "f", watch.OpCreate}, {1, "f", finish}}, []int{2}},
		"one of two":                 {[]step{{0, "f", watch.OpWrite}, {1, "g", watch.OpWrite}, {1, "f", finish}}, []int{17}},
		"both of two":                {[]step{{0, "f", watch.OpWrite}, {1, "g", watch.OpWrite}, {1, "f", finish}, {1, "g", finish}}, []int{3}},
		"written to after the close": {[]step{{0, "f", watch.OpWrite}, {0, "f", finish}, {1, "f", watch.OpWrite}}, []int{0, 16}},
		// Of a listed directory every name counts, that of a temporary file too.
		"listed, in place":                {[]step{{0, "any/f", watch.OpWrite}, {1, "any/f", finish}}, []int{1}},
		"listed, a rename over":           {[]step{{0, "any/tmp", watch.OpCreate}, {1, "any/tmp", finish}, {1, "any/tmp", watch.OpRename}, {0, "any/f", moved}}, []int{2}},
		"listed, renamed over a new file": {[]step{{0, "any/f", watch.OpCreate}, {1, "any/f", moved}}, []int{1}},
		"listed, a new file":              {[]step{{0, "any/f", watch.OpCreate}, {1, "any/f", finish}}, []int{16}},
		"listed, back and new":            {[]step{{0, "any/f", watch.OpRename}, {1, "any/f", watch.OpCreate}, {1, "any/f", finish}}, []int{2}},
	} {
		t.Run(name, func(t *testing.T) {
			withFake(t, watch.Options{}, func(t *testing.T, b *bench) {
				b.mkdir("any")
				b.set("a", watch.Dir{Path: b.dir, Names: []string{"f", "g", "d"}}, watch.Dir{Path: b.path("any")})
				time.Sleep(time.Second)
				start := time.Now()
				go func() {
					var together []watch.Event
					for i, s := range c.steps {
						together = append(together, watch.Event{Path: b.path(s.name), Op: s.op})
						if i+1 < len(c.steps) && c.steps[i+1].after == 0 {
							continue
						}
						b.n.sendAll(together...)
						together = nil
						if i+1 < len(c.steps) {
							time.Sleep(msec(c.steps[i+1].after))
						}
					}
				}()
				for _, want := range c.want {
					b.want(events("a"))
					if got := time.Since(start); got != msec(want) {
						t.Errorf("a batch came after %v, want %d ms", got, want)
					}
				}
				b.wantNone(50 * time.Second)
			})
		})
	}
}

// TestFinishedAgainAndAgain closes a file after each line, as a loop of a shell's
// does. The first is handed out at once, and what follows when there is quiet, or
// after the longest wait.
func TestFinishedAgainAndAgain(t *testing.T) {
	withFake(t, watch.Options{}, func(t *testing.T, b *bench) {
		b.set("a", watch.Dir{Path: b.dir, Names: []string{"f"}})
		time.Sleep(time.Second)
		start := time.Now()
		go func() {
			for range 100 {
				b.n.sendAll(watch.Event{Path: b.path("f"), Op: watch.OpWrite}, watch.Event{Path: b.path("f"), Op: finish})
				time.Sleep(4 * time.Millisecond)
			}
		}()
		// Lines come from 0 to 396 ms.
		for _, want := range []int{0, 154, 306, 411} {
			b.want(events("a"))
			if got := time.Since(start); got != msec(want) {
				t.Errorf("a batch came after %v, want %d ms", got, want)
			}
		}
		b.wantNone(50 * time.Second)
		// A pace at which there is quiet between two is no loop.
		for range 10 {
			b.n.send(b.path("f"), finish)
			b.wantAfter(0, events("a"))
			time.Sleep(15 * time.Millisecond)
		}
	})
}

// TestFinishedWaitsForTheKeeper moves a directory to where an owner looks: what is
// in it can only be seen when it is watched.
func TestFinishedWaitsForTheKeeper(t *testing.T) {
	withFake(t, watch.Options{}, func(t *testing.T, b *bench) {
		b.set("a", watch.Dir{Path: b.path("x"), Names: []string{"f"}})
		time.Sleep(time.Second)
		b.n.decide(func(string) error {
			time.Sleep(40 * time.Millisecond)
			return nil
		})
		b.mkdir("x")
		b.n.send(b.path("x"), moved)
		b.wantAfter(55*time.Millisecond, events("a"))
		b.wantNone(50 * time.Second)
	})
}

// TestFinishedAmongMore has a finished file in a batch that is for more.
func TestFinishedAmongMore(t *testing.T) {
	withFake(t, watch.Options{}, func(t *testing.T, b *bench) {
		b.set("a", watch.Dir{Path: b.dir, Names: []string{"f"}})
		time.Sleep(time.Second)
		b.Set("a", []watch.Dir{{Path: b.dir, Names: []string{"f", "g"}}})
		b.n.send(b.path("f"), finish)
		b.wantAfter(15*time.Millisecond, events("a"))
		b.wantNone(50 * time.Second)
	})
}
