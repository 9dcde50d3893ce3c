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
	// presenceHolds is how long other hubs believe what one has published:
	// longer than a database is away when it is started anew.
	presenceHolds = 30 * time.Second
	// presenceAgain is how soon it publishes the same again.
	presenceAgain = 10 * time.Second
	// presenceFarewell is how long a hub that ends tries to take it back.
	presenceFarewell = 2 * time.Second
)

// presenceDefault is that of Options.Presence.
const presenceDefault = 2 * time.Second

// presence exchanges with other hubs over the same store which agents are
// connected and which of their connections write, where the store can be
// shared. What the others say goes to Hub.writers. The life of one: init, start,
// close, wait.
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

// start begins the exchange, unless it has begun, is over, or there is nobody
// to exchange anything with.
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

// close makes the exchange end; wait returns when it has.
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
		if err != nil && !failing && p.ctx.Err() == nil { // what was known stands meanwhile
			p.hub.log.Warn("hubs can't tell each other who is connected", slog.Any("error", err))
		}
		failing = err != nil
		select {
		case <-ticker.C:
		case <-p.ctx.Done():
			if len(published) > 0 {
				ctx, cancel := context.WithTimeout(context.WithoutCancel(p.ctx), presenceFarewell)
				_ = shared.Present(ctx, self, nil, 0) // it is believed for a moment longer then
				cancel()
			}
			return
		}
	}
}

// connected returns the agents that are connected, to this hub or, a moment ago,
// to another one over the same database.
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
