package hub

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"waymark/hub/store"
)

// session is one connection of one peer: a WebSocket, or one of plain DRPC.
// The calls of the latter usually come with one agent's token, but nothing
// forbids several.
type session struct {
	hub *Hub
	// drop ends the connection.
	drop context.CancelCauseFunc
	// turn holds one element, which whoever pushes takes: a lock that can be
	// waited for with a context, and that is fit to be held while the store is
	// asked. It guards states.
	turn   chan struct{}
	states map[string]*agentState // by agent

	mu      sync.Mutex // guards the rest
	holders map[*holder]struct{}
	ended   bool
	calls   int         // that are under way
	leaving bool        // ends with the last of them
	parting *time.Timer // ends it; nil: nothing does
}

// agentState is what a session knows of an agent that pushes on it.
type agentState struct {
	// generation puts the agent's sessions in order. It was given out before
	// the agent could send its first push, at the handshake or by Open, so
	// that a push can't arrive late and be taken for newer than it is.
	generation int64
	// base is what a delta may be against; nil: nothing.
	base *base
}

func (h *Hub) newSession(drop context.CancelCauseFunc) *session {
	s := &session{
		hub: h, drop: drop, turn: make(chan struct{}, 1),
		states: make(map[string]*agentState), holders: make(map[*holder]struct{}),
	}
	s.turn <- struct{}{}
	h.drain.add(s)
	return s
}

// attach notes that the holder has shown its token on this connection.
func (s *session) attach(h *holder) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.holders[h]; known || s.ended {
		return
	}
	s.holders[h] = struct{}{}
	oldest, first := s.hub.live.join(h, s)
	if oldest != nil {
		oldest.drop(errTooManySessions)
	}
	if first {
		s.hub.log.Info("agent connected", slog.String("agent", h.agentID))
	}
}

// end notes that the connection is gone.
func (s *session) end() {
	defer s.hub.drain.remove(s)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	if s.parting != nil {
		s.parting.Stop()
	}
	for h := range s.holders {
		if s.hub.live.leave(h, s) {
			s.hub.log.Info("agent disconnected", slog.String("agent", h.agentID))
		}
	}
	clear(s.holders)
}

// lock waits for the session's turn to push.
func (s *session) lock(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-s.turn:
		return nil
	}
}

func (s *session) unlock() { s.turn <- struct{}{} }

// state returns what the session knows of the agent, and begins a generation
// when that is nothing. The caller has the turn.
func (s *session) state(ctx context.Context, st store.Store, agentID string) (*agentState, error) {
	if state := s.states[agentID]; state != nil {
		return state, nil
	}
	generation, err := st.BeginSession(ctx, agentID)
	if err != nil {
		return nil, err
	}
	state := &agentState{generation: generation}
	s.states[agentID] = state
	return state, nil
}
