package hub

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"
)

const (
	// seenSoon is how soon the end of an agent's connection is stored. It combines those of
	// many agents, for example when a proxy is restarted.
	seenSoon = time.Second
	// seenAgain is how often the time is stored for connected agents. If a hub is killed,
	// its agents appear to be away up to this much too early.
	seenAgain = 5 * time.Minute
	// seenFarewell is how long a stopping hub tries to store the rest.
	seenFarewell = 2 * time.Second
)

// lastSeen stores when agents were last connected. The store itself records the beginning
// of a connection, with its generation. Call init, start, close, wait and flush in this
// order.
type lastSeen struct {
	hub *Hub

	ctx    context.Context //nolint:containedctx // ends with close
	cancel context.CancelFunc

	mu      sync.Mutex // guards the other fields, and running against Add after Wait
	ended   map[string]struct{}
	started bool
	running sync.WaitGroup
}

func (l *lastSeen) init(h *Hub) {
	l.hub, l.ended = h, make(map[string]struct{})
	l.ctx, l.cancel = context.WithCancel(context.Background())
}

// gone records that a connection of the agent has ended.
func (l *lastSeen) gone(agentID string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended[agentID] = struct{}{}
}

// start starts storing, once, unless close was called.
func (l *lastSeen) start() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.started || l.ctx.Err() != nil {
		return
	}
	l.started = true
	l.running.Go(l.run)
}

func (l *lastSeen) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cancel()
}

func (l *lastSeen) wait() { l.running.Wait() }

func (l *lastSeen) run() {
	soon, again := time.NewTicker(seenSoon), time.NewTicker(seenAgain)
	defer soon.Stop()
	defer again.Stop()
	for {
		select {
		case <-soon.C:
			l.flush(l.ctx)
		case <-again.C:
			for _, agentID := range l.hub.transport.Agents() {
				l.gone(agentID) // this is what is known if this hub is killed
			}
		case <-l.ctx.Done():
			return
		}
	}
}

// take returns the agents recorded since the last call. The caller owns the map.
func (l *lastSeen) take() map[string]struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.ended) == 0 {
		return nil
	}
	ended := l.ended
	l.ended = make(map[string]struct{})
	return ended
}

// flush stores the rest.
func (l *lastSeen) flush(ctx context.Context) {
	ended := l.take()
	if len(ended) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, seenFarewell)
	defer cancel()
	if err := l.hub.store.SeenAgents(ctx, slices.Sorted(maps.Keys(ended))); err != nil && l.ctx.Err() == nil {
		l.hub.log.Warn("when agents were connected is not stored", slog.Int("agents", len(ended)), slog.Any("error", err))
	}
}
