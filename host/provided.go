package host

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"waymark/host/plugin"
	"waymark/snapshot"
)

const (
	// providedRank puts what providers make behind all that resolvers find.
	providedRank = math.MaxInt
	// gatherProvided is how long what has changed waits for more: servers that are
	// started together answer together, and one snapshot says it of all.
	gatherProvided = 25 * time.Millisecond
)

// provided is what the providers have now, and how far all discovery is. It is
// pending, too, while a module is loaded for the first time: what that finds is
// still to come.
func (h *Host) provided(list *plugin.List) (candidates []snapshot.Candidate, all snapshot.Discovery) {
	all.Phase = snapshot.PhaseComplete
	if list.Loading() {
		all.Phase = snapshot.PhasePending
	}
	for i, p := range h.opts.Providers {
		// Of what changes in between, Changed tells.
		for _, c := range p.Resources() {
			c.Rank, c.Root, c.DropIn, c.Provided = providedRank, i, false, true
			candidates = append(candidates, c)
		}
		d := p.Discovery()
		if d.Pending() {
			all.Phase = snapshot.PhasePending
		}
		all.Sources = append(all.Sources, d.Sources...)
	}
	slices.SortStableFunc(all.Sources, func(a, b snapshot.SourceOutcome) int { return cmp.Compare(a.ID, b.ID) })
	return candidates, all
}

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
