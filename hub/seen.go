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
	// seenSoon is how soon it is written down that a connection of an agent has ended:
	// those of many, when a proxy is started anew, are written in one go.
	seenSoon = time.Second
	// seenAgain is how often it is written down of agents that are connected: so much
	// too early those of a hub that was killed are said to be away.
	seenAgain = 5 * time.Minute
	// seenFarewell is how long a hub that ends tries to write down the rest.
	seenFarewell = 2 * time.Second
)

// lastSeen writes down when agents were connected last. That a connection begins is
// written by the store with its generation. The life of one: init, start, close, wait,
// flush.
type lastSeen struct {
	hub *Hub

	ctx    context.Context //nolint:containedctx // ends with close
	cancel context.CancelFunc

	mu      sync.Mutex // guards the rest, and running against Add after Wait
	ended   map[string]struct{}
	started bool
	running sync.WaitGroup
}

func (l *lastSeen) init(h *Hub) {
	l.hub, l.ended = h, make(map[string]struct{})
	l.ctx, l.cancel = context.WithCancel(context.Background())
}

// gone takes down that a connection of the agent has ended.
func (l *lastSeen) gone(agentID string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended[agentID] = struct{}{}
}

// start begins to write, unless that has begun or is over.
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
				l.gone(agentID) // or will be, if this hub is killed
			}
		case <-l.ctx.Done():
			return
		}
	}
}

// take returns who has gone since it was called last. The map is the caller's alone:
// an empty one stays, and may be written to as soon as the lock is free.
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

// flush writes down what hasn't been.
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
