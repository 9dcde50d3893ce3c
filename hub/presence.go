package hub

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"waymark/hub/server"
	"waymark/hub/store"
)

const (
	// presenceHolds is how long what a hub publishes is valid for others. It is longer than
	// a restart of the database takes.
	presenceHolds = 30 * time.Second
	// presenceAgain is how soon a hub publishes unchanged state again.
	presenceAgain = 10 * time.Second
	// presenceFarewell is how long a stopping hub tries to withdraw its state.
	presenceFarewell = 2 * time.Second
)

// presenceDefault is the default of Options.Presence.
const presenceDefault = 2 * time.Second

// presence exchanges with other hubs, if the store can be shared, which agents are
// connected and which of their connections write. Hub.writers receives what others publish.
// Call init, start, close and wait in this order.
type presence struct {
	hub   *Hub
	every time.Duration

	ctx    context.Context //nolint:containedctx // ends with close
	cancel context.CancelFunc

	mu      sync.Mutex // guards started, and running against Add after Wait
	started bool
	running sync.WaitGroup
}

func (p *presence) init(h *Hub, every time.Duration) {
	p.hub, p.every = h, cmp.Or(every, presenceDefault)
	p.ctx, p.cancel = context.WithCancel(context.Background())
}

// start starts the exchange, once, if the store can be shared and close wasn't called.
func (p *presence) start() {
	shared, ok := p.hub.store.(store.Presence)
	p.mu.Lock()
	defer p.mu.Unlock()
	if !ok || p.started || p.ctx.Err() != nil {
		return
	}
	p.started = true
	p.running.Go(func() { p.exchange(shared) })
}

// close ends the exchange; wait returns when it has ended.
func (p *presence) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cancel()
}

func (p *presence) wait() { p.running.Wait() }

func (p *presence) exchange(shared store.Presence) {
	self := p.hub.replicas.self
	ticker := time.NewTicker(p.every)
	defer ticker.Stop()
	var published []store.PresentAgent
	var at time.Time
	failing := false
	for {
		local := p.hub.writers.present(p.hub.transport.Agents())
		var err error
		if !slices.Equal(local, published) || len(local) > 0 && time.Since(at) >= presenceAgain {
			if err = shared.Present(p.ctx, self, local, presenceHolds); err == nil {
				published, at = local, time.Now()
			}
		}
		if others, elsewhereErr := shared.Elsewhere(p.ctx, self.ID); elsewhereErr == nil {
			p.hub.writers.setElsewhere(others)
		} else if err == nil {
			err = elsewhereErr
		}
		if err != nil && !failing && p.ctx.Err() == nil { // keep the last known state
			p.hub.log.Warn("hubs can't tell each other who is connected", slog.Any("error", err))
		}
		failing = err != nil
		select {
		case <-ticker.C:
		case <-p.ctx.Done():
			if len(published) > 0 {
				ctx, cancel := context.WithTimeout(context.WithoutCancel(p.ctx), presenceFarewell)
				_ = shared.Present(ctx, self, nil, 0) // otherwise it expires by itself
				cancel()
			}
			return
		}
	}
}

// connected returns the agents that are connected to this hub or, a moment ago, to another
// one with the same database.
func (h *Hub) connected() map[string]server.Connection {
	list := make(map[string]server.Connection)
	for id, notHeard := range h.writers.others() {
		list[id] = server.Connection{NotHeard: notHeard}
	}
	for _, p := range h.writers.present(h.transport.Agents()) {
		list[p.ID] = server.Connection{NotHeard: list[p.ID].NotHeard + p.NotHeard}
	}
	return list
}
