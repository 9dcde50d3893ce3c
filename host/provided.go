package host

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"
)

// gatherProvided is how long what has changed waits for more: servers that are
// started together answer together, and one snapshot says it of all.
const gatherProvided = 25 * time.Millisecond

// followProviders publishes what changes at the providers, until ctx ends.
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
		// It waits for a refresh that is going on, which may have asked before the
		// change. Nothing that changes meanwhile is lost, nor is the refresh.
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
