package watch_test

import (
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"waymark/host/watch"
)

// TestAddedOnce asks for things and counts the batches that follow.
func TestAddedOnce(t *testing.T) {
	withFake(t, watch.Options{}, func(t *testing.T, b *bench) {
		b.mkdir("x")
		x, y := b.path("x"), b.path("y")
		for _, c := range []struct {
			what string
			dirs []watch.Dir
			want bool
		}{
			{"new", []watch.Dir{{Path: x, Names: []string{"1", "2"}}, {Path: y, Names: []string{"1"}}}, true},
			{"the same", []watch.Dir{{Path: x, Names: []string{"1", "2"}}, {Path: y, Names: []string{"1"}}}, false},
			{"in another order", []watch.Dir{{Path: y, Names: []string{"1"}}, {Path: x, Names: []string{"2", "1"}}}, false},
			{"said twice", []watch.Dir{{Path: x, Names: []string{"2"}}, {Path: y, Names: []string{"1"}}, {Path: x + "/", Names: []string{"1", "1"}}}, false},
			{"a name less", []watch.Dir{{Path: x, Names: []string{"2"}}, {Path: y, Names: []string{"1"}}}, false},
			{"a name more", []watch.Dir{{Path: x, Names: []string{"1", "2"}}, {Path: y, Names: []string{"1"}}}, true},
			{"any name", []watch.Dir{{Path: x}, {Path: y, Names: []string{"1"}}}, true},
			{"of any, some", []watch.Dir{{Path: x, Names: []string{"7"}}, {Path: y, Names: []string{"1"}}}, false},
			{"a directory less", []watch.Dir{{Path: x, Names: []string{"7"}}}, false},
			{"one that doesn't exist more", []watch.Dir{{Path: x, Names: []string{"7"}}, {Path: b.path("z", "z")}}, true},
			{"nothing", nil, false},
			{"nothing again", nil, false},
			{"a relative path", []watch.Dir{{Path: "x"}}, false},
		} {
			b.Set("a", c.dirs)
			if c.want {
				b.want(watch.Batch{Owners: []string{"a"}, Reason: watch.ReasonAdded})
			}
			b.wantNone(time.Second)
			b.Set("a", c.dirs)
			b.wantNone(time.Second)
			if t.Failed() {
				t.Fatal(c.what)
			}
		}
	})
}

// TestSetCopies changes what was given to Set.
func TestSetCopies(t *testing.T) {
	withFake(t, watch.Options{}, func(t *testing.T, b *bench) {
		dirs := []watch.Dir{{Path: b.dir, Names: []string{"a"}}}
		b.set("a", dirs...)
		dirs[0].Names[0] = "b"
		b.Set("a", dirs) // not what was given before
		b.want(watch.Batch{Owners: []string{"a"}, Reason: watch.ReasonAdded})
		b.n.send(b.path("a"), watch.OpWrite)
		b.wantNone(time.Second)
		b.n.send(b.path("b"), watch.OpWrite)
		b.want(events("a"))
	})
}

// TestWhatIsWatched looks at the watches: of what exists, the directories
// asked for and those on the way, and none that nobody needs any more.
func TestWhatIsWatched(t *testing.T) {
	withFake(t, watch.Options{}, func(t *testing.T, b *bench) {
		b.mkdir("w", "x", "y")
		outside := len(b.n.WatchList())
		b.set("a", watch.Dir{Path: b.path("w", "x", "y")})
		b.set("b", watch.Dir{Path: b.path("w", "v", "u")})
		if got, want := b.n.added(b.dir), []string{"w/x/y", ".", "w", "w/x"}; !slices.Equal(got, want) {
			t.Errorf("watches added: %q, want %q", got, want)
		}
		b.Set("a", nil)
		b.wantNone(time.Second)
		if got := b.n.WatchList(); slices.Contains(got, b.path("w", "x")) || !slices.Contains(got, b.path("w")) {
			t.Errorf("watched: %q", got)
		}
		b.Set("b", nil)
		b.wantNone(time.Second)
		if got := b.n.WatchList(); len(got) != outside {
			t.Errorf("watched: %q", got)
		}
		b.wantState(watch.State{Mode: watch.ModeNotify})
	})
}

// TestEssentialFirst has few watches: they go to what owners asked for, and to
// where something is to come, before what is on the way.
func TestEssentialFirst(t *testing.T) {
	withFake(t, watch.Options{}, func(t *testing.T, b *bench) {
		b.mkdir("deep", "er")
		left := 2
		b.n.decide(func(string) error {
			if left == 0 {
				return syscall.ENOSPC
			}
			left--
			return nil
		})
		b.Set("a", []watch.Dir{{Path: b.path("deep", "er")}, {Path: b.path("to", "come")}})
		b.want(all(watch.ReasonAdded))
		if got, want := b.n.WatchList(), []string{b.dir, b.path("deep", "er")}; !slices.Equal(got, want) {
			t.Errorf("watched: %q, want %q", got, want)
		}
	})
}

// TestChangeWhileAdding changes things from inside Add, when the watch isn't
// there yet.
func TestChangeWhileAdding(t *testing.T) {
	withFake(t, watch.Options{}, func(t *testing.T, b *bench) {
		b.n.decide(func(path string) error {
			if path == b.dir {
				b.mkdir("x")
			}
			if path == b.path("x") {
				b.mkdir("x", "y") // no event tells of it
			}
			return nil
		})
		b.set("a", watch.Dir{Path: b.path("x", "y")})
		b.wantNone(time.Second)
		if got := b.n.WatchList(); !slices.Contains(got, b.path("x", "y")) {
			t.Errorf("watched: %q", got)
		}
	})
}

// TestStaleWatchInTheWay asks for a directory that is still watched under the
// path that it had before a rename that nobody has noticed.
func TestStaleWatchInTheWay(t *testing.T) {
	withFake(t, watch.Options{}, func(t *testing.T, b *bench) {
		b.mkdir("a", "c")
		b.set("a", watch.Dir{Path: b.path("a", "c")})
		if err := os.Rename(b.path("a"), b.path("b")); err != nil {
			t.Fatal(err)
		}
		b.Set("b", []watch.Dir{{Path: b.path("b", "c")}})
		b.want(events("a", "b"))
		list := b.n.WatchList()
		if slices.Contains(list, b.path("a", "c")) || !slices.Contains(list, b.path("b", "c")) {
			t.Errorf("watched: %q", list)
		}
		b.n.send(b.path("b", "c", "f"), watch.OpWrite)
		b.want(events("b"))
		b.wantNone(time.Second)
	})
}
