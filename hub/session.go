package hub

import (
	"context"
	"errors"
	"strings"

	"golang.org/x/sync/semaphore"
	"storj.io/drpc"
	"storj.io/drpc/drpcerr"

	"waymark/hub/store"
	"waymark/wire"
)

// session is the state of a connection. The calls of a plain DRPC connection usually come
// from one agent, but there may be several.
type session struct {
	hub *Hub
	// end ends the connection; see transport.Services.NewSession.
	end func(why error)
	// turn is held while pushing, including the store's work. It guards writes.
	turn *semaphore.Weighted
	// writes has the session's writer for each agent that it belongs to.
	writes map[string]*writer
	// writers is the number of these agents; guarded by hub.writers.
	writers int
}

// Begin implements transport.Session.
func (s *session) Begin(ctx context.Context, agentID string) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.unlock()
	_, err := s.writer(ctx, agentID)
	return err
}

// open records which run of the agent is on the connection, and returns whether it is
// superseded. If it isn't, what the agent says about itself, for people, is stored soon.
func (s *session) open(ctx context.Context, agentID, run string, yields bool, said store.AgentDescription) (superseded bool, err error) {
	if err := s.lock(ctx); err != nil {
		return false, err
	}
	defer s.unlock()
	w, err := s.writer(ctx, agentID)
	if err != nil {
		return false, err
	}
	superseded = s.hub.writers.open(w, run, yields)
	if none := (store.AgentDescription{}); !superseded && said != none && said != w.said { // none: an old agent
		w.said = said
		s.hub.seen.describe(agentID, said)
	}
	return superseded, nil
}

// HandleRPC implements transport.Session.
func (s *session) HandleRPC(stream drpc.Stream, method string) error {
	if strings.HasPrefix(method, wire.ServiceAgent) && method != wire.MethodPushContextState {
		return drpcerr.WithCode(errUnimplemented, wire.CodeUnimplemented)
	}
	return s.hub.mux.HandleRPC(stream, method)
}

// lock waits for the session's turn to push.
func (s *session) lock(ctx context.Context) error { return s.turn.Acquire(ctx, 1) }

func (s *session) unlock() { s.turn.Release(1) }

// writer returns the session's writer for the agent. If there is none, it begins a
// generation. The caller has the turn.
func (s *session) writer(ctx context.Context, agentID string) (*writer, error) {
	if w := s.writes[agentID]; w != nil {
		return w, nil
	}
	s.hub.presence.begin()
	generation, found, err := s.hub.store.BeginSession(ctx, agentID, s.hub.replicas.self.ID)
	if err != nil {
		return nil, err
	}
	s.writes[agentID] = s.hub.writers.add(s, agentID, generation, found)
	return s.writes[agentID], nil
}

// End implements transport.Session.
func (s *session) End() {
	s.hub.writers.remove(s)
	for agentID, w := range s.writes {
		s.hub.seen.gone(agentID, w.generation)
	}
	s.hub.seen.some.Set() // it may be the last connection of an agent whose session has ended
}

// push stores a checked push.
func (s *session) push(ctx context.Context, agentID string, p *store.Push) (store.PushResult, error) {
	if err := s.lock(ctx); err != nil {
		return store.PushResult{}, err
	}
	defer s.unlock()
	w, err := s.writer(ctx, agentID)
	if err != nil {
		return store.PushResult{}, err
	}
	p.Hub, p.Run = s.hub.replicas.self.ID, s.hub.writers.pushing(w)
	result, err := s.hub.store.Push(ctx, agentID, w.generation, *p)
	switch {
	case result.Accepted:
		s.hub.writers.accepted(w)
	case errors.Is(err, store.ErrSuperseded):
		s.hub.writers.refused(w)
	default:
		s.hub.writers.failed(w)
	}
	return result, err
}
