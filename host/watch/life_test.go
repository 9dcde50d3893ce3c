package watch_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"waymark/host/watch"
	"waymark/test/testenv"
)

// The tests here run in bubbles, which fail when a goroutine is left.

func TestCloseBeforeRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := watch.New(watch.Options{NewBackend: func() (watch.Backend, error) {
			t.Error("a notifier was made")
			return nil, errors.ErrUnsupported
		}})
		w.Set("a", []watch.Dir{{Path: "/"}})
		waited := make(chan error, 1)
		go func() {
			_, err := w.Wait(context.Background())
			waited <- err
		}()
		synctest.Wait()
		for range 2 {
			if err := w.Close(); err != nil {
				t.Error(err)
			}
		}
		if err := <-waited; err != watch.ErrClosed {
			t.Errorf("Wait: %v", err)
		}
		if err := w.Run(t.Context()); err != watch.ErrClosed {
			t.Errorf("Run after Close: %v", err)
		}
		w.Set("a", nil)
	})
}

func TestRunTwice(t *testing.T) {
	withFake(t, watch.Options{}, func(t *testing.T, b *bench) {
		if err := b.Run(t.Context()); err == nil || err == watch.ErrClosed {
			t.Errorf("a second Run: %v", err)
		}
	})
}

func TestEndOfRun(t *testing.T) {
	for name, end := range map[string]func(*watch.Watcher, context.CancelFunc){
		"close":            func(w *watch.Watcher, _ context.CancelFunc) { _ = w.Close() },
		"cancel":           func(_ *watch.Watcher, cancel context.CancelFunc) { cancel() },
		"cancel and close": func(w *watch.Watcher, cancel context.CancelFunc) { cancel(); _ = w.Close() },
		"close by many": func(w *watch.Watcher, _ context.CancelFunc) {
			var closing sync.WaitGroup
			for range 3 {
				closing.Go(func() { _ = w.Close() })
			}
			closing.Wait()
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := linkFreeDir(t)
			synctest.Test(t, func(t *testing.T) {
				n := newNotifier()
				w := watch.New(watch.Options{NewBackend: func() (watch.Backend, error) { return n, nil }})
				w.Set("a", []watch.Dir{{Path: dir}})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				ended := make(chan error, 1)
				go func() { ended <- w.Run(ctx) }()
				synctest.Wait()
				if s, _ := w.State(); s.Mode != watch.ModeNotify {
					t.Errorf("the state is %+v", s)
				}
				_, changed := w.State()
				end(w, cancel)
				if err := <-ended; err != nil {
					t.Errorf("Run: %v", err)
				}
				if s, _ := w.State(); s != (watch.State{Mode: watch.ModeOff}) {
					t.Errorf("the state is %+v", s)
				}
				<-changed
				if !n.closing {
					t.Error("the notifier isn't closed")
				}
				// What was ready is still handed out, and then no more.
				for {
					_, err := w.Wait(context.Background())
					if err == watch.ErrClosed {
						break
					}
					if err != nil {
						t.Fatal(err)
					}
				}
				if err := w.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestWaitIsCancelled(t *testing.T) {
	withFake(t, watch.Options{}, func(t *testing.T, b *bench) {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errors.New("enough"))
		if _, err := b.Wait(ctx); err != context.Canceled {
			t.Errorf("Wait: %v", err)
		}
		b.set("a", watch.Dir{Path: b.dir}) // nothing is lost
	})
}

// TestFullQueueWhileAdding adds many watches while the notifier can't take one
// more event: its Add waits for somebody to read.
func TestFullQueueWhileAdding(t *testing.T) {
	withFake(t, watch.Options{}, func(t *testing.T, b *bench) {
		b.n.decide(func(path string) error {
			b.n.send(b.path("noise"), watch.OpCreate)
			b.n.send(path, watch.OpChmod)
			return nil
		})
		var dirs []watch.Dir
		for i := range testenv.Rounds(300, 2000, 2000) {
			dirs = append(dirs, watch.Dir{Path: b.mkdir(fmt.Sprint("d", i))})
		}
		b.Set("a", dirs)
		b.want(events("a"))
		if s, _ := b.State(); s.Dirs < len(dirs) {
			t.Errorf("only %d directories are watched", s.Dirs)
		}
		b.wantNone(50 * time.Second)
	})
}

// TestCloseWhileAdding closes when a fraction of the watches is added.
func TestCloseWhileAdding(t *testing.T) {
	withFake(t, watch.Options{}, func(t *testing.T, b *bench) {
		b.n.decide(func(string) error {
			time.Sleep(100 * time.Millisecond)
			return nil
		})
		var dirs []watch.Dir
		for i := range 100 {
			dirs = append(dirs, watch.Dir{Path: b.mkdir(fmt.Sprint(i))})
		}
		b.Set("a", dirs)
		time.Sleep(time.Second)
		start := time.Now()
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		if d := time.Since(start); d > 100*time.Millisecond {
			t.Errorf("it took %v, more than one watch takes", d)
		}
	})
}

// TestSetsFromManySides is for the race detector.
func TestSetsFromManySides(t *testing.T) {
	withFake(t, watch.Options{}, func(t *testing.T, b *bench) {
		var setting sync.WaitGroup
		for i := range 8 {
			setting.Go(func() {
				for j := range 50 {
					b.Set(fmt.Sprint(i), []watch.Dir{{Path: b.path(fmt.Sprint(j % 3))}, {Path: b.path("x", fmt.Sprint(i))}})
					b.State()
				}
				b.Set(fmt.Sprint(i), nil)
			})
		}
		setting.Go(func() {
			for range 50 {
				b.mkdir("x", "3")
				b.n.send(b.path("x"), watch.OpCreate)
				b.n.fail(watch.ErrOverflow)
			}
		})
		setting.Wait()
		b.want(all(watch.ReasonOverflow))
		b.wantState(watch.State{Mode: watch.ModeNotify})
	})
}
