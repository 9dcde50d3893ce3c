package fleet

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"waymark/hub/store"
	"waymark/internal/await"
)

const (
	// seenEvery is how often something is stored at most: the first at once, and then that of
	// many agents together, for example when a proxy is restarted.
	seenEvery = time.Second
	// seenFarewell is how long a stopping hub tries to store the rest.
	seenFarewell = 2 * time.Second
)

// lastSeen stores what nobody waits for, of many agents together: when they were last connected,
// when their tokens were used, and what they say about themselves. The store itself records the
// beginning of a connection, with its generation. Call init, start, close, wait and flush in
// this order.
type lastSeen struct {
	fleet *Fleet

	ctx    context.Context //nolint:containedctx // ends with close
	cancel context.CancelFunc
	some   await.Wake // there is something to store

	mu sync.Mutex // guards the other fields, and running against Add after Wait
	// ended are agents with the newest generation of their ended sessions.
	ended map[string]int64
	// newest is the same of agents that still have older connections.
	newest map[string]int64
	// said is what agents say about themselves, if that is new.
	said    map[string]store.AgentDescription
	started bool
	running sync.WaitGroup
}

func (l *lastSeen) init(f *Fleet) {
	l.fleet, l.ended, l.newest = f, make(map[string]int64), make(map[string]int64)
	l.said = make(map[string]store.AgentDescription)
	l.some = await.NewWake()
	l.ctx, l.cancel = context.WithCancel(context.Background())
}

// gone records that a session of the agent has ended, whose connection doesn't count any more.
func (l *lastSeen) gone(agentID string, generation int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended[agentID] = max(l.ended[agentID], generation)
	l.some.Set()
}

// describe records what an agent says about itself.
func (l *lastSeen) describe(agentID string, d store.AgentDescription) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.said[agentID] = d
	l.some.Set()
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
	for {
		select {
		case <-l.some:
			l.flush(false)
		case <-l.ctx.Done():
			return
		}
		if await.Sleep(l.ctx, seenEvery) != nil {
			return
		}
	}
}

// take returns the sessions and the descriptions recorded since the last call.
func (l *lastSeen) take() ([]store.EndedSession, map[string]store.AgentDescription) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, generation := range l.newest { // the last connection of an agent may be one that never pushed
		if !l.fleet.transport.Connected(id) {
			l.ended[id] = max(l.ended[id], generation)
		}
	}
	list := make([]store.EndedSession, 0, len(l.ended))
	for id, generation := range l.ended {
		one := store.EndedSession{AgentID: id, Generation: generation, Last: !l.fleet.transport.Connected(id)}
		if one.Last {
			one.Generation = max(generation, l.newest[id])
			delete(l.newest, id)
		} else {
			l.newest[id] = max(generation, l.newest[id])
		}
		list = append(list, one)
	}
	clear(l.ended)
	said := l.said
	l.said = make(map[string]store.AgentDescription)
	return list, said
}

// flush stores what is recorded, in the end also uses of tokens that would be stored later.
func (l *lastSeen) flush(end bool) {
	// It goes on for a moment when the hub ends.
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	defer context.AfterFunc(l.ctx, func() { time.AfterFunc(seenFarewell, cancel) })()
	ended, said := l.take()
	used := l.fleet.uses.take(end)
	for _, part := range []struct {
		what  string
		n     int
		store func() error
	}{
		{"when agents were connected", len(ended), func() error { return l.fleet.store.EndSessions(ctx, l.fleet.self.ID, ended) }},
		{"what agents say of themselves", len(said), func() error { return l.fleet.store.DescribeAgents(ctx, said) }},
		{"when tokens were used", len(used), func() error { return l.fleet.store.TouchTokens(ctx, used) }},
	} {
		if part.n == 0 {
			continue
		}
		if err := part.store(); err != nil && l.ctx.Err() == nil {
			l.fleet.log.Warn("something is not stored", slog.String("what", part.what), slog.Int("of", part.n), slog.Any("error", err))
		}
	}
}
