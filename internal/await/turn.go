package await

import (
	"context"
	"errors"
	"sync"
)

// errInterrupted is the cause of the context of work that an urgent caller interrupts.
var errInterrupted = errors.New("interrupted by what can't wait, and begun anew after it")

// Turn is a lock for work that may take long. Waiters can give up, and an urgent caller
// interrupts such work instead of waiting for it. It isn't handed out in order of arrival, and
// work that ignores its context can't be interrupted. Make one with NewTurn.
type Turn struct {
	life   context.Context //nolint:containedctx // that of whatever the turn is about
	token  chan struct{}   // holds a token while the lock is free
	closed sync.Once

	mu        sync.Mutex              // guards the fields below
	urgent    int                     // urgent callers that wait or hold the lock
	interrupt context.CancelCauseFunc // of what runs in Do; nil if nothing does
	calm      Signal                  // urgent has become 0
}

// NewTurn makes a Turn whose callers give up when life ends, with its cause.
func NewTurn(life context.Context) *Turn {
	t := &Turn{life: life, token: make(chan struct{}, 1)}
	t.token <- struct{}{}
	return t
}

// Take waits for the lock. It returns a context that also ends with the life of the Turn. The
// caller calls leave when it is done.
func (t *Turn) Take(ctx context.Context) (_ context.Context, leave func(), err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	unhook := context.AfterFunc(t.life, func() { cancel(context.Cause(t.life)) })
	end := func() {
		unhook()
		cancel(nil)
	}
	select {
	case <-t.token:
	case <-ctx.Done():
		end()
		return nil, nil, context.Cause(ctx)
	}
	leave = func() {
		t.token <- struct{}{}
		end()
	}
	for _, over := range []context.Context{t.life, ctx} { // if several were ready
		if over.Err() != nil {
			leave()
			return nil, nil, context.Cause(over)
		}
	}
	return ctx, leave, nil
}

// Urgent is Take for a caller that interrupts what runs in Do.
func (t *Turn) Urgent(ctx context.Context) (_ context.Context, leave func(), err error) {
	t.mu.Lock()
	t.urgent++
	if t.interrupt != nil {
		t.interrupt(errInterrupted)
	}
	t.mu.Unlock()
	done := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.urgent--; t.urgent == 0 {
			t.calm.Notify()
		}
	}
	ctx, release, err := t.Take(ctx)
	if err != nil {
		done()
		return nil, nil, err
	}
	return ctx, func() {
		release()
		done()
	}, nil
}

// Do runs work under the lock. If an urgent caller interrupts it, and it returns the cause of
// its context, it runs again after that caller.
func (t *Turn) Do(ctx context.Context, work func(context.Context) error) error {
	for {
		if err := t.waitCalm(ctx); err != nil {
			return err
		}
		if err := t.try(ctx, work); !errors.Is(err, errInterrupted) {
			return err
		}
	}
}

// waitCalm waits until there is no urgent caller.
func (t *Turn) waitCalm(ctx context.Context) error {
	for {
		calm := t.calm.Changed()
		t.mu.Lock()
		urgent := t.urgent
		t.mu.Unlock()
		if urgent == 0 {
			return nil
		}
		select {
		case <-calm:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-t.life.Done():
			return context.Cause(t.life)
		}
	}
}

// try runs work once.
//
// # Errors
//
// errInterrupted if an urgent caller came first, or in between.
func (t *Turn) try(ctx context.Context, work func(context.Context) error) error {
	ctx, leave, err := t.Take(ctx)
	if err != nil {
		return err
	}
	defer leave()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	t.mu.Lock()
	urgent := t.urgent
	t.interrupt = cancel
	t.mu.Unlock()
	defer func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.interrupt = nil
	}()
	if urgent > 0 {
		return errInterrupted
	}
	return work(ctx)
}

// Close waits for the lock and keeps it for good. The life of the Turn must have ended
// before. It may be called twice.
func (t *Turn) Close() { t.closed.Do(func() { <-t.token }) }
