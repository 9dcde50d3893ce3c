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
// beginning of a connection, with its generation.
type lastSeen struct {
	fleet *Fleet

	some await.Wake // there is something to store

	mu sync.Mutex // guards the other fields
	// ended are agents with the newest generation of their ended sessions.
	ended map[string]int64
	// newest is the same of agents that still have older connections.
	newest map[string]int64
	// said is what agents say about themselves, if that is new.
	said map[string]store.AgentDescription
}

func (l *lastSeen) init(f *Fleet) {
	l.fleet, l.ended, l.newest = f, make(map[string]int64), make(map[string]int64)
	l.said = make(map[string]store.AgentDescription)
	l.some = await.NewWake()
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

// run stores until ctx ends, and then what is left.
func (l *lastSeen) run(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case <-l.some:
			l.flush(ctx, false)
		case <-ctx.Done():
		}
		_ = await.Sleep(ctx, seenEvery) // the loop checks ctx
	}
	l.flush(ctx, true)
}

// take returns the sessions and the descriptions recorded since the last call.
func (l *lastSeen) take() ([]store.EndedSession, map[string]store.AgentDescription) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, generation := range l.newest { // the last connection of an agent may be one that never pushed
		if !l.fleet.opts.Transport.Connected(id) {
			l.ended[id] = max(l.ended[id], generation)
		}
	}
	list := make([]store.EndedSession, 0, len(l.ended))
	for id, generation := range l.ended {
		one := store.EndedSession{AgentID: id, Generation: generation, Last: !l.fleet.opts.Transport.Connected(id)}
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
func (l *lastSeen) flush(ending context.Context, end bool) {
	// It goes on for a moment when the hub ends.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ending))
	defer cancel()
	defer context.AfterFunc(ending, func() { time.AfterFunc(seenFarewell, cancel) })()
	ended, said := l.take()
	used := l.fleet.uses.take(end)
	for _, part := range []struct {
		what  string
		n     int
		store func() error
	}{
		{"when agents were connected", len(ended), func() error { return l.fleet.opts.Store.EndSessions(ctx, l.fleet.opts.Self.ID, ended) }},
		{"what agents say of themselves", len(said), func() error { return l.fleet.opts.Store.DescribeAgents(ctx, said) }},
		{"when tokens were used", len(used), func() error { return l.fleet.opts.Store.TouchTokens(ctx, used) }},
	} {
		if part.n == 0 {
			continue
		}
		if err := part.store(); err != nil && ending.Err() == nil {
			l.fleet.opts.Log.Warn("something is not stored", slog.String("what", part.what), slog.Int("of", part.n), slog.Any("error", err))
		}
	}
}
