package fleet

import (
	"context"
	"sync"
	"time"

	"waymark/hub/store"
)

// Counts are counts of all agents in the store, whichever hub they are connected to.
type Counts struct {
	Connected, Away, NeverConnected int
	// Attention is the number of agents for each reason.
	Attention map[store.Attention]int
}

const (
	// countsFor is how long counts are cached, because a scrape asks for each of them.
	countsFor = 5 * time.Second
	// countTimeout limits how long the store may take to answer.
	countTimeout = 3 * time.Second
)

// counts counts the agents.
type counts struct {
	mu  sync.Mutex // serializes queries; guards the other fields
	at  time.Time
	now Counts
	err error
}

// Count counts all agents. The counts may be five seconds old.
func (f *Fleet) Count(ctx context.Context) (Counts, error) {
	c := &f.counts
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.at.IsZero() && time.Since(c.at) < countsFor {
		return c.now, c.err
	}
	// Not the caller's context, because other callers share the answer.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), countTimeout)
	defer cancel()
	n, err := f.opts.Store.CountAgents(ctx)
	c.at, c.err = time.Now(), err
	c.now = Counts{
		Connected: n.Connected, Away: n.Agents - n.NeverSeen - n.Connected, NeverConnected: n.NeverSeen, Attention: n.Attention,
	}
	return c.now, c.err
}
