package hub

import (
	"context"
	"sync"

	"waymark/hub/store"
)

// live knows which agents have a connection now.
type live struct {
	mu    sync.Mutex // guards count
	count map[string]int
}

func (l *live) add(agentID string, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count[agentID] += n
	if l.count[agentID] == 0 {
		delete(l.count, agentID)
	}
}

// Connected reports whether the agent has a live connection: one on which it
// has shown its token.
func (h *Hub) Connected(agentID string) bool {
	h.live.mu.Lock()
	defer h.live.mu.Unlock()
	return h.live.count[agentID] > 0
}

// session is one connection of one peer. The calls of a connection usually
// come with one agent's token, but nothing forbids several.
type session struct {
	live *live
	// turn holds one element, which whoever begins a generation takes: a lock
	// that can be waited for with a context, and that is fit to be held while
	// the store is asked. It guards generations.
	turn        chan struct{}
	generations map[string]int64

	mu     sync.Mutex // guards agents
	agents map[string]struct{}
}

func newSession(l *live) *session {
	s := &session{
		live: l, turn: make(chan struct{}, 1),
		generations: make(map[string]int64), agents: make(map[string]struct{}),
	}
	s.turn <- struct{}{}
	return s
}

// attach notes that the agent has shown its token on this connection, and
// reports whether that is new.
func (s *session) attach(agentID string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.agents[agentID]; known {
		return false
	}
	s.agents[agentID] = struct{}{}
	s.live.add(agentID, 1)
	return true
}

// end notes that the connection is gone and returns whose it was.
func (s *session) end() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var agents []string
	for id := range s.agents {
		s.live.add(id, -1)
		agents = append(agents, id)
	}
	clear(s.agents)
	return agents
}

// generation returns the agent's generation on this connection, and begins it
// on the first call.
func (s *session) generation(ctx context.Context, st store.Store, agentID string) (int64, error) {
	select {
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-s.turn:
		defer func() { s.turn <- struct{}{} }()
	}
	if g, begun := s.generations[agentID]; begun {
		return g, nil
	}
	g, err := st.BeginSession(ctx, agentID)
	if err != nil {
		return 0, err
	}
	s.generations[agentID] = g
	return g, nil
}
