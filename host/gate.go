package host

import (
	"context"
	"errors"
	"sync"
	"time"

	"waymark/internal/await"
)

// pause waits for d, and reports whether ctx is still active.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// ended drops an error that only says that the context or the Host has ended.
func ended(ctx context.Context, err error) error {
	over := ctx.Err() != nil || errors.Is(err, ErrClosed)
	if over {
		return nil
	}
	return err
}

// gate is closed until it is opened once.
type gate struct {
	once   sync.Once
	opened chan struct{} // closed when the gate opens
}

func newGate() gate { return gate{opened: make(chan struct{})} }

func (g *gate) open() { g.once.Do(func() { close(g.opened) }) }

func (g *gate) isOpen() bool {
	select {
	case <-g.opened:
		return true
	default:
		return false
	}
}

// replaceable holds a value until another replaces it. It may be used from any goroutine.
type replaceable[T any] struct {
	mu      sync.Mutex // guards value and changed
	value   T
	changed await.Signal
}

// get returns the value, and a channel that is closed when it is replaced.
func (r *replaceable[T]) get() (value T, replaced <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.value, r.changed.Changed()
}

// set replaces the value and returns the previous one.
func (r *replaceable[T]) set(next T) (before T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before, r.value = r.value, next
	r.changed.Notify()
	return before
}
