package watch_test

import (
	"fmt"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"waymark/host/watch"
)

func TestRecheck(t *testing.T) {
	withFake(t, watch.Options{}, func(t *testing.T, b *bench) {
		b.wantAfter(time.Minute+15*time.Millisecond, all(watch.ReasonRecheck))
		for range 5 {
			b.wantAfter(time.Minute, all(watch.ReasonRecheck))
		}
	})
}

// TestRecheckWaitsForTheTaker looks for ten seconds each time.
func TestRecheckWaitsForTheTaker(t *testing.T) {
	withFake(t, watch.Options{Recheck: 4 * time.Second}, func(t *testing.T, b *bench) {
		b.want(all(watch.ReasonRecheck))
		for range 3 {
			time.Sleep(10 * time.Second)
			b.wantAfter(4*time.Second+15*time.Millisecond, all(watch.ReasonRecheck))
		}
		// Other looks don't put it off.
		b.set("a", watch.Dir{Path: b.dir})
		for range 3 {
			b.n.send(b.path("x"), watch.OpWrite)
			b.want(events("a"))
			time.Sleep(time.Second)
		}
		b.wantAfter(940*time.Millisecond, all(watch.ReasonRecheck))
	})
}

// TestSilentFileSystem watches /proc, where nothing makes events.
func TestSilentFileSystem(t *testing.T) {
	if _, err := os.Stat("/proc/sys"); err != nil {
		t.Skip("there is no /proc here")
	}
	withFake(t, watch.Options{}, func(t *testing.T, b *bench) {
		b.wantState(watch.State{Mode: watch.ModeNotify})
		b.set("a", watch.Dir{Path: "/proc/sys"})
		b.wantState(watch.State{Mode: watch.ModeNotify, Dirs: 3, Silent: true})
		b.want(all(watch.ReasonRecheck))
		b.wantAfter(5*time.Second, all(watch.ReasonRecheck))
		b.Set("a", nil)
		b.wantState(watch.State{Mode: watch.ModeNotify})
		b.wantNone(50 * time.Second)
		b.want(all(watch.ReasonRecheck))
	})
}

// TestRecheckRenewsWatches loses watches without any event: at an unmount, and
// by a rename that wasn't seen.
func TestRecheckRenewsWatches(t *testing.T) {
	withFake(t, watch.Options{}, func(t *testing.T, b *bench) {
		b.mkdir("x")
		b.mkdir("y")
		b.set("a", watch.Dir{Path: b.path("x")})
		b.set("b", watch.Dir{Path: b.path("y")})
		b.n.added(b.dir)
		_ = b.n.Remove(b.path("x"))
		if err := os.Rename(b.path("y"), b.path("z")); err != nil {
			t.Fatal(err)
		}
		b.mkdir("y")
		b.want(all(watch.ReasonEvents)) // the rename was found
		if got, want := b.n.added(b.dir), []string{"x", "y"}; !slices.Equal(got, want) {
			t.Errorf("added: %q, want %q", got, want)
		}
		b.want(all(watch.ReasonRecheck))
		if got := b.n.added(b.dir); got != nil {
			t.Errorf("added again: %q", got)
		}
	})
}

// TestChangesAtEveryLook replaces a directory whenever it is watched, as on a
// file system whose inode numbers don't stay. It must come to an end.
func TestChangesAtEveryLook(t *testing.T) {
	withFake(t, watch.Options{}, func(t *testing.T, b *bench) {
		b.mkdir("x")
		i := 0
		b.n.decide(func(path string) error {
			if path != b.path("x") {
				return nil
			}
			i++
			if err := os.Rename(path, b.path(fmt.Sprint("x", i))); err != nil {
				return err
			}
			return os.Mkdir(path, 0o755)
		})
		b.set("a", watch.Dir{Path: b.path("x")})
		b.wantNone(50 * time.Second)
		if i == 0 || i > 20 {
			t.Errorf("it was watched %d times", i)
		}
		b.n.send(b.path("x", "f"), watch.OpWrite)
		b.wantAfter(15*time.Millisecond, events("a")) // not held up by what can't be had
		b.n.decide(nil)
		b.want(all(watch.ReasonAdded))
		if !slices.Contains(b.n.WatchList(), b.path("x")) {
			t.Error("it isn't watched in the end")
		}
	})
}

// TestVanishesAtAdd has a directory go between the look and the watch.
func TestVanishesAtAdd(t *testing.T) {
	for _, errno := range []syscall.Errno{syscall.ENOENT, syscall.ENOTDIR} {
		withFake(t, watch.Options{}, func(t *testing.T, b *bench) {
			b.mkdir("x")
			b.n.decide(func(path string) error {
				if path == b.path("x") {
					_ = os.Remove(path)
					return errno
				}
				return nil
			})
			b.set("a", watch.Dir{Path: b.path("x")})
			b.wantState(watch.State{Mode: watch.ModeNotify, Dirs: -1})
			b.n.decide(nil)
			b.mkdir("x")
			b.n.send(b.path("x"), watch.OpCreate)
			b.want(events("a"))
			if !slices.Contains(b.n.WatchList(), b.path("x")) {
				t.Errorf("%v: it isn't watched in the end", errno)
			}
		})
	}
}
