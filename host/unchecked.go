package host

import (
	"context"
	"maps"
	"sync"
	"time"

	"waymark/host/watch"
	"waymark/internal/notify"
)

const (
	// checkAfter is how long after the last refresh near events what lies elsewhere
	// waits to be checked, for more events: a burst should cost one check.
	checkAfter = 100 * time.Millisecond
	// checkWithin is how long it waits while there are more events.
	checkWithin = time.Second
)

// unchecked are the roots that were checked near events alone since everything in
// them was. Events say where to look first; that nothing has changed elsewhere isn't
// taken from them.
type unchecked struct {
	wake notify.Wake // holds a token when there is the first

	mu     sync.Mutex // guards what follows
	owners map[string]bool
	last   time.Time // when one was added, or again
}

// note says how a root was checked just now.
func (u *unchecked) note(owner string, wholly bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if wholly {
		delete(u.owners, owner)
		return
	}
	if u.owners == nil {
		u.owners = map[string]bool{}
	}
	u.owners[owner] = true
	u.last = time.Now()
	u.wake.Set()
}

// waiting returns the roots, and for how long no one was added.
func (u *unchecked) waiting() (owners map[string]bool, quiet time.Duration) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return maps.Clone(u.owners), time.Since(u.last)
}

// checkRest checks the rest of what was checked near events, once these have ended,
// until ctx ends.
func (h *Host) checkRest(ctx context.Context) error {
	for {
		select {
		case <-h.unchecked.wake:
		case <-ctx.Done():
			return nil
		}
		owners, quiet := h.unchecked.waiting()
		for until := time.Now().Add(checkWithin); len(owners) > 0 && quiet < checkAfter; owners, quiet = h.unchecked.waiting() {
			wait := min(checkAfter-quiet, time.Until(until))
			if wait <= 0 {
				break
			}
			if !pause(ctx, wait) {
				return nil
			}
		}
		if len(owners) == 0 {
			continue
		}
		if _, err := h.flights.join(ctx, scope{owners: owners, reason: watch.ReasonRecheck}); err != nil {
			return ended(ctx, err)
		}
	}
}
