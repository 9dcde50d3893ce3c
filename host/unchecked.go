package host

import (
	"context"
	"time"

	"waymark/host/watch"
)

const (
	// checkAfter is how long the rest of a root waits to be checked after the last refresh
	// near events. A burst should cost one check.
	checkAfter = 100 * time.Millisecond
	// checkWithin is how long it waits at most while events keep arriving.
	checkWithin = time.Second
)

// checkRest checks the rest of roots that were checked near events, once events stop, until
// ctx ends.
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
