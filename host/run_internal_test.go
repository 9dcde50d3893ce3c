package host

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestReplaceable: a value comes with the channel that closes when it is replaced, and not
// with that of the one before: a pusher that seems to be replaced by itself is never run.
func TestReplaceable(t *testing.T) {
	var r replaceable[int]
	const last = 100_000
	go func() {
		for i := range last {
			r.set(i + 1)
		}
	}()
	for before := -1; before < last; {
		value, replaced := r.get()
		if value <= before {
			t.Fatalf("%d was replaced by %d", before, value)
		}
		if before = value; value < last {
			<-replaced
		}
	}
}

// TestQuiet: what a resolver's runs took is freed once nothing has been run for a while, and
// not while edits go on.
func TestQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var freed atomic.Int32
		h, err := New(Options{Settled: func() { freed.Add(1) }})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- h.save(ctx) }()
		for range 5 {
			h.unsaved.Set()
			time.Sleep(quietAfter)
		}
		if n := freed.Load(); n != 0 {
			t.Errorf("freed %d times while edits go on", n)
		}
		time.Sleep(10 * quietAfter)
		if n := freed.Load(); n != 1 {
			t.Errorf("freed %d times afterwards", n)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
}
