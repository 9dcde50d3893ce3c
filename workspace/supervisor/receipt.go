package supervisor

import (
	"context"
	"fmt"
	"maps"
	"time"
)

// receipt is the memory of a tracked start.
type receipt struct {
	Tracked
	process *held // nil if it was fenced off before the start, or is forgotten
	fenced  bool  // it must never start
}

// same reports whether it is the same start. Deadlines are compared as times, not as text.
func (r *receipt) same(t *Tracked) bool {
	return r.InputDigest == t.InputDigest && r.Deadline.Equal(t.Deadline)
}

// admitTracked returns the process of an earlier start with the same id; nil if there is
// none. The caller holds mu, and makes a receipt.
func (s *server) admitTracked(spec *Spec) (*held, error) {
	t := spec.Tracked
	if t.InstanceID != s.instance {
		return nil, ErrInstance
	}
	if r := s.receipts[spec.ID]; r != nil {
		switch {
		case !r.same(t):
			return nil, fmt.Errorf("the id: %w", ErrConflict)
		case r.process == nil || r.fenced && r.process.over():
			return nil, fmt.Errorf("it was fenced off, or is forgotten: %w", ErrExpired)
		}
		return r.process, nil
	}
	if t.over(time.Now()) {
		return nil, fmt.Errorf("the deadline has passed: %w", ErrExpired)
	}
	return nil, s.receiptRoom()
}

// receiptRoom makes room for a receipt. Receipts whose deadline has passed can be dropped,
// because the start can't happen any more. The caller holds mu.
func (s *server) receiptRoom() error {
	if len(s.receipts) < s.limits.Receipts {
		return nil
	}
	now := time.Now()
	maps.DeleteFunc(s.receipts, func(_ string, r *receipt) bool { return r.process == nil && r.over(now) })
	if len(s.receipts) < s.limits.Receipts {
		return nil
	}
	return fmt.Errorf("%d tracked starts are remembered: %w", len(s.receipts), ErrFull)
}

// cancel fences a start off, whether it is known or not, and ends its process.
func (s *server) cancel(ctx context.Context, id string, t Tracked, wait time.Duration) (fenced bool, info *Info, err error) {
	h, err := s.fence(id, &t)
	if h == nil {
		return err == nil, nil, err
	}
	select {
	case <-h.ready:
	case <-ctx.Done():
		return true, nil, context.Cause(ctx)
	}
	if h.failed != nil {
		return true, nil, nil
	}
	h.askToEnd()
	var over <-chan time.Time
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		over = timer.C
		select {
		case <-h.done:
		case <-over:
		case <-ctx.Done():
			return true, nil, context.Cause(ctx)
		}
	}
	i := h.info()
	return true, &i, nil
}

// fence fences a start off, and returns the process to end; nil if there is none.
func (s *server) fence(id string, t *Tracked) (*held, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.InstanceID != s.instance {
		return nil, ErrInstance
	}
	if !validID(id) {
		return nil, fmt.Errorf("%q can't be an id", id)
	}
	r := s.receipts[id]
	switch {
	case r == nil && s.held[id] != nil, r != nil && !r.same(t):
		return nil, fmt.Errorf("the id: %w", ErrConflict)
	case r == nil && t.over(time.Now()):
		return nil, fmt.Errorf("the deadline has passed, so it can't start: %w", ErrExpired)
	case r == nil:
		if err := s.receiptRoom(); err != nil {
			return nil, err
		}
		s.receipts[id] = &receipt{Tracked: *t, fenced: true}
		return nil, nil
	}
	r.fenced = true
	return r.process, nil
}
