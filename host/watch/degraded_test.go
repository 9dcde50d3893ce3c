package watch_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"waymark/host/watch"
)

func TestNoNotifier(t *testing.T) {
	var tries []time.Time
	works := false
	n := newNotifierLater{}
	opts := watch.Options{NewBackend: func() (watch.Backend, error) {
		tries = append(tries, time.Now())
		if !works {
			return nil, fmt.Errorf("couldn't initialize inotify: %w", syscall.EMFILE)
		}
		return n.make(), nil
	}}
	withFake(t, opts, func(t *testing.T, b *bench) {
		b.want(all(watch.ReasonPoll)) // at once: nothing would be seen
		b.wantState(watch.State{Mode: watch.ModeDegraded, Error: "*"})
		if s, _ := b.State(); !strings.Contains(s.Error, "sysctl -w ") || !strings.Contains(s.Error, "max_user_instances") {
			t.Errorf("the error gives no advice: %q", s.Error)
		}
		b.Set("a", []watch.Dir{{Path: b.dir}})
		for range 100 {
			b.wantAfter(2*time.Second, all(watch.ReasonPoll))
		}
		var delays []time.Duration
		for i := range tries[1:] {
			delays = append(delays, tries[i+1].Sub(tries[i])/time.Second)
		}
		if want := []time.Duration{2, 4, 8, 16, 32, 60, 60}; !slices.Equal(delays, want) {
			t.Errorf("tried again after %d seconds, want %d", delays, want)
		}

		works = true
		_, changed := b.State()
		select {
		case <-changed:
		case <-time.After(time.Hour):
			t.Fatal("it doesn't recover")
		}
		b.want(all(watch.ReasonRecovered))
		b.wantState(watch.State{Mode: watch.ModeNotify, Dirs: -1})
		b.wantAfter(time.Minute, all(watch.ReasonRecheck))
		n.last.send(b.path("x"), watch.OpWrite)
		b.want(events("a"))
	})
}

// newNotifierLater makes notifiers inside the bubble.
type newNotifierLater struct{ last *notifier }

func (l *newNotifierLater) make() *notifier {
	l.last = newNotifier()
	return l.last
}

func TestTooFewWatches(t *testing.T) {
	withFake(t, watch.Options{}, func(t *testing.T, b *bench) {
		b.mkdir("a")
		b.mkdir("b")
		full := true
		b.n.decide(func(path string) error {
			if full && path == b.path("b") {
				return syscall.ENOSPC
			}
			return nil
		})
		b.set("a", watch.Dir{Path: b.path("a")})
		b.wantState(watch.State{Mode: watch.ModeNotify, Dirs: -1})
		b.Set("b", []watch.Dir{{Path: b.path("b")}})
		b.want(all(watch.ReasonAdded)) // a poll, and b's names
		b.wantState(watch.State{Mode: watch.ModeDegraded, Dirs: -1, Error: "*"})
		if s, _ := b.State(); !strings.Contains(s.Error, "max_user_watches") || !strings.Contains(s.Error, "sysctl -w ") {
			t.Errorf("the error gives no advice: %q", s.Error)
		}
		// What is watched is watched, everything is polled.
		b.n.send(b.path("a", "x"), watch.OpWrite)
		b.want(events("a"))
		b.want(all(watch.ReasonPoll))
		b.wantAfter(2*time.Second, all(watch.ReasonPoll))

		full = false
		b.want(all(watch.ReasonRecovered))
		b.wantState(watch.State{Mode: watch.ModeNotify, Dirs: -1})
		b.n.send(b.path("b", "x"), watch.OpWrite)
		b.want(events("b"))
		b.wantNone(30 * time.Second)
	})
}

// TestFullTableIsNotAskedAgain has no watches at all for many directories.
func TestFullTableIsNotAskedAgain(t *testing.T) {
	withFake(t, watch.Options{}, func(t *testing.T, b *bench) {
		tries := 0
		b.n.decide(func(string) error {
			tries++
			return syscall.ENOSPC
		})
		var dirs []watch.Dir
		for i := range 100 {
			dirs = append(dirs, watch.Dir{Path: b.mkdir(fmt.Sprint(i))})
		}
		b.Set("a", dirs)
		b.want(all(watch.ReasonAdded))
		if tries != 1 {
			t.Errorf("tried %d times", tries)
		}
	})
}

// TestLessIsAskedFor mends a full table by needing less.
func TestLessIsAskedFor(t *testing.T) {
	withFake(t, watch.Options{}, func(t *testing.T, b *bench) {
		b.mkdir("a")
		b.n.decide(func(path string) error {
			if path == b.path("a") {
				return syscall.ENOSPC
			}
			return nil
		})
		b.Set("a", []watch.Dir{{Path: b.path("a")}})
		b.want(all(watch.ReasonAdded))
		b.wantState(watch.State{Mode: watch.ModeDegraded, Dirs: -1, Error: "*"})
		b.Set("a", []watch.Dir{{Path: b.dir}})
		b.want(all(watch.ReasonRecovered))
		b.wantState(watch.State{Mode: watch.ModeNotify, Dirs: -1})
	})
}

func TestNotifierBreaks(t *testing.T) {
	n := newNotifierLater{}
	opts := watch.Options{NewBackend: func() (watch.Backend, error) { return n.make(), nil }}
	withFake(t, opts, func(t *testing.T, b *bench) {
		b.set("a", watch.Dir{Path: b.dir})
		before := b.dirs()
		for i, delay := range []time.Duration{2, 4, 8} {
			broken := n.last
			broken.fail(errors.New("read: input/output error"))
			b.want(all(watch.ReasonPoll))
			b.wantState(watch.State{Mode: watch.ModeDegraded, Error: "*"})
			if s, _ := b.State(); !strings.Contains(s.Error, "input/output error") {
				t.Errorf("the error doesn't say why: %q", s.Error)
			}
			if !broken.closing {
				t.Error("the broken notifier isn't closed")
			}
			for range delay/2 - 1 {
				b.want(all(watch.ReasonPoll))
			}
			b.want(all(watch.ReasonRecovered)) // with the poll of that moment
			b.wantState(watch.State{Mode: watch.ModeNotify, Dirs: before})
			n.last.send(b.path(fmt.Sprint(i)), watch.OpCreate)
			b.want(events("a"))
		}
		// After a minute of health the delays start over.
		b.want(all(watch.ReasonRecheck))
		b.want(all(watch.ReasonRecheck))
		n.last.fail(errors.New("again"))
		b.want(all(watch.ReasonPoll))
		b.wantAfter(2*time.Second, all(watch.ReasonRecovered))
	})
}

func (b *bench) dirs() int {
	b.t.Helper()
	synctest.Wait()
	s, _ := b.State()
	return s.Dirs
}

func TestOverflow(t *testing.T) {
	withFake(t, watch.Options{}, func(t *testing.T, b *bench) {
		b.mkdir("x", "y")
		b.set("a", watch.Dir{Path: b.path("x", "y"), Names: []string{"z"}})
		b.n.added(b.dir)
		b.n.fail(fmt.Errorf("inotify: %w", watch.ErrOverflow))
		b.want(all(watch.ReasonOverflow))
		b.wantNone(50 * time.Second)
		if got := b.n.added(b.dir); len(got) != 3 {
			t.Errorf("the watches made anew are %q", got)
		}
		b.wantState(watch.State{Mode: watch.ModeNotify, Dirs: -1})
	})
}

// TestUnreadable has directories that may not be watched: what lies in one that
// an owner asked for, or waits for something in, is re-checked more often.
func TestUnreadable(t *testing.T) {
	withFake(t, watch.Options{}, func(t *testing.T, b *bench) {
		b.mkdir("locked", "open")
		locked := true
		b.n.decide(func(path string) error {
			if locked && path == b.path("locked") {
				return syscall.EACCES
			}
			return nil
		})
		b.set("a", watch.Dir{Path: b.path("locked", "open")})
		b.wantState(watch.State{Mode: watch.ModeNotify, Dirs: -1}) // only on the way
		b.Set("b", []watch.Dir{{Path: b.path("locked", "missing")}})
		b.want(watch.Batch{Owners: []string{"b"}, Reason: watch.ReasonAdded})
		b.wantState(watch.State{Mode: watch.ModeNotify, Dirs: -1, Silent: true})
		b.want(all(watch.ReasonRecheck))
		b.wantAfter(5*time.Second, all(watch.ReasonRecheck))
		b.Set("b", nil)
		b.Set("c", []watch.Dir{{Path: b.path("locked")}})
		b.want(watch.Batch{Owners: []string{"c"}, Reason: watch.ReasonAdded})
		b.wantState(watch.State{Mode: watch.ModeNotify, Dirs: -1, Silent: true})

		locked = false
		b.n.send(b.path("locked"), watch.OpChmod)
		b.want(events("a", "c"))
		b.wantState(watch.State{Mode: watch.ModeNotify, Dirs: -1})
		b.wantNone(50 * time.Second)
	})
}

// TestOddErrorOfAdd has Add fail for no known reason: the other directories
// are still tried.
func TestOddErrorOfAdd(t *testing.T) {
	withFake(t, watch.Options{}, func(t *testing.T, b *bench) {
		b.mkdir("a")
		b.mkdir("b")
		b.n.decide(func(path string) error {
			if path == b.path("a") {
				return errors.New("who knows")
			}
			return nil
		})
		b.Set("a", []watch.Dir{{Path: b.path("a")}, {Path: b.path("b")}})
		b.want(all(watch.ReasonAdded))
		b.wantState(watch.State{Mode: watch.ModeDegraded, Dirs: -1, Error: "*"})
		if s, _ := b.State(); !strings.Contains(s.Error, "who knows") || !strings.Contains(s.Error, b.path("a")) {
			t.Errorf("the error doesn't say what: %q", s.Error)
		}
		if !slices.Contains(b.n.WatchList(), b.path("b")) {
			t.Error("the other directory isn't watched")
		}
	})
}

// TestAdvice meets each error that a person can do something about.
func TestAdvice(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{syscall.ENOSPC, "max_user_watches"},
		{syscall.EMFILE, "ulimit -n"},
		{syscall.ENFILE, "fs.file-max"},
		{syscall.ENOMEM, "no memory"},
		{errors.New("odd"), "odd"},
	} {
		check := func(t *testing.T, b *bench) {
			b.Set("a", []watch.Dir{{Path: b.dir}})
			b.wantState(watch.State{Mode: watch.ModeDegraded, Dirs: -1, Error: "*"})
			s, _ := b.State()
			if !strings.Contains(s.Error, c.want) || !strings.Contains(s.Error, c.err.Error()) || !strings.Contains(s.Error, "polled") {
				t.Errorf("%v: %q", c.err, s.Error)
			}
		}
		n := newNotifierLater{}
		withFake(t, watch.Options{NewBackend: func() (watch.Backend, error) {
			b := n.make()
			b.decide(func(string) error { return c.err })
			return b, nil
		}}, check)
		if c.err == syscall.ENOSPC { // there are no such instances
			continue
		}
		withFake(t, watch.Options{NewBackend: func() (watch.Backend, error) { return nil, c.err }}, check)
	}
}
