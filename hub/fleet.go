package hub

import (
	"context"
	"sync"
	"time"
)

// FleetStats are counts of all agents in the store, whichever hub they are connected to.
type FleetStats struct {
	Connected, Away, NeverConnected int
	// Failing is the number of agents with failing plugins.
	Failing     int
	DriftedPins int
}

const (
	// fleetFor is how long counts are cached, because a scrape asks for each of them.
	fleetFor = 5 * time.Second
	// fleetTimeout limits how long the store may take to answer.
	fleetTimeout = 3 * time.Second
)

// fleet counts the agents.
type fleet struct {
	mu    sync.Mutex // serializes queries; guards the other fields
	at    time.Time
	stats FleetStats
	err   error
}

func (f *fleet) count(ctx context.Context, h *Hub) (FleetStats, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.at.IsZero() && time.Since(f.at) < fleetFor {
		return f.stats, f.err
	}
	// Not the caller's context, because other callers share the answer.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fleetTimeout)
	defer cancel()
	n, err := h.store.CountAgents(ctx)
	f.at, f.err = time.Now(), err
	f.stats = FleetStats{
		Connected: n.Connected, Away: n.Agents - n.NeverSeen - n.Connected, NeverConnected: n.NeverSeen, Failing: n.Failing, DriftedPins: n.DriftedPins,
	}
	return f.stats, f.err
}

// Fleet counts all agents. The counts may be five seconds old.
func (s *Server) Fleet(ctx context.Context) (FleetStats, error) { return s.hub.fleet.count(ctx, s.hub) }
