package host

import (
	"context"
	"errors"
	"sync"
)

// errHurry ends work that somebody doesn't wait for. It is done again.
var errHurry = errors.New("interrupted by a reload, and begun anew after it")

// hurry lets what must not wait for modules, such as a reload, go before work
// that holds a turn while modules run: a run may take its whole time, and there
// may be many.
type hurry struct {
	mu      sync.Mutex // guards the rest
	waiting int
	calm    chan struct{} // closed when nobody is in a hurry any more; nil when nobody is
	work    map[*interruptible]struct{}
}

// interruptible is work that a hurry ends.
type interruptible struct{ cancel context.CancelCauseFunc }

// begin returns the context of work that may be interrupted, also at once; its
// cause is errHurry then. The caller has the turn, and calls end.
func (h *hurry) begin(ctx context.Context) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &interruptible{cancel}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.waiting > 0 {
		cancel(errHurry)
	}
	if h.work == nil {
		h.work = map[*interruptible]struct{}{}
	}
	h.work[w] = struct{}{}
	return ctx, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.work, w)
		cancel(nil)
	}
}

// enter interrupts what is going on, and what begins until leave.
func (h *hurry) enter() (leave func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.waiting++; h.waiting == 1 {
		h.calm = make(chan struct{})
	}
	for w := range h.work {
		w.cancel(errHurry)
	}
	return sync.OnceFunc(func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.waiting--; h.waiting == 0 {
			close(h.calm)
			h.calm = nil
		}
	})
}

// wait waits until nobody is in a hurry.
func (h *hurry) wait(ctx context.Context) {
	h.mu.Lock()
	calm := h.calm
	h.mu.Unlock()
	if calm == nil {
		return
	}
	select {
	case <-calm:
	case <-ctx.Done():
	}
}
