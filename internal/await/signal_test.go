package await_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"waymark/internal/await"
)

func TestNotifyWakesAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var signal await.Signal
		var woken atomic.Int32
		for range 3 {
			go func() {
				<-signal.Changed()
				woken.Add(1)
			}()
		}
		synctest.Wait()
		if n := woken.Load(); n != 0 {
			t.Fatalf("%d of 3 went on before anything had changed", n)
		}
		signal.Notify()
		synctest.Wait()
		if n := woken.Load(); n != 3 {
			t.Errorf("%d of 3 were woken", n)
		}
		select {
		case <-signal.Changed():
			t.Error("what has changed before Changed was called wakes once more")
		default:
		}
	})
}

// TestNothingIsLost: a waiter that takes the channel before it reads the state
// sees the last state, however the two interleave.
func TestNothingIsLost(t *testing.T) {
	const last = 1000
	var signal await.Signal
	var state atomic.Int64
	var waiters sync.WaitGroup
	for range 4 {
		waiters.Go(func() {
			for {
				changed := signal.Changed()
				if state.Load() == last {
					return
				}
				<-changed
			}
		})
	}
	for range last {
		state.Add(1)
		signal.Notify()
	}
	waiters.Wait()
}
