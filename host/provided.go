package host

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"
)

// gatherProvided is how long a change waits for more: servers that start together answer
// together, and share one snapshot.
const gatherProvided = 25 * time.Millisecond

// followProviders publishes the providers' changes until ctx ends.
func (h *Host) followProviders(ctx context.Context) error {
	var g errgroup.Group
	for _, p := range h.opts.Providers {
		g.Go(func() error { return h.followProvider(ctx, p) })
	}
	return g.Wait()
}

func (h *Host) followProvider(ctx context.Context, p Provider) error {
	for {
		changed := p.Changed()
		// amend waits for a refresh in progress, which may have read the providers before the
		// change. Neither later changes nor the refresh are lost.
		if _, err := h.amend(ctx); err != nil {
			return ended(ctx, err)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
		timer := time.NewTimer(gatherProvided)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil
		}
	}
}
