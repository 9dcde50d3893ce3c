package hub

import (
	"context"
	"sync"
	"time"
)

// FleetStats counts all agents that the store knows, whichever hub they are connected to.
type FleetStats struct {
	Connected, Away, NeverConnected int
	// Failing are those of which plugins fail.
	Failing     int
	DriftedPins int
}

const (
	// fleetFor is how long a count is good for: a scrape asks for each of its numbers.
	fleetFor = 5 * time.Second
	// fleetTimeout is how long the store may take to answer.
	fleetTimeout = 3 * time.Second
)

// fleet counts the agents.
type fleet struct {
	mu    sync.Mutex // one question at a time; guards the rest
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
	// Not the caller's context: the answer is for the others, too.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fleetTimeout)
	defer cancel()
	agents, err := h.store.Agents(ctx)
	connected := h.connected()
	f.at, f.stats, f.err = time.Now(), FleetStats{}, err
	for i := range agents {
		a := &agents[i]
		_, here := connected[a.ID]
		switch {
		case here:
			f.stats.Connected++
		case a.SeenAt.IsZero():
			f.stats.NeverConnected++
		default:
			f.stats.Away++
		}
		if a.FailingPlugins > 0 {
			f.stats.Failing++
		}
		f.stats.DriftedPins += a.DriftedPins
	}
	return f.stats, f.err
}

// Fleet counts all agents. What it says may be five seconds old.
func (s *Server) Fleet(ctx context.Context) (FleetStats, error) { return s.hub.fleet.count(ctx, s.hub) }
