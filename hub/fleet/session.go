package fleet

import (
	"context"
	"errors"

	"golang.org/x/sync/semaphore"

	"waymark/hub/store"
)

// Session is the state of a connection. The calls of a plain DRPC connection usually come
// from one agent, but there may be several.
type Session struct {
	fleet *Fleet
	// end ends the connection; see transport.Services.NewSession.
	end func(why error)
	// turn is held while pushing, including the store's work. It guards writes.
	turn *semaphore.Weighted
	// writes has the session's writer for each agent that it belongs to.
	writes map[string]*writer
	// writers is the number of these agents; guarded by fleet.writers.
	writers int
}

// Begin implements transport.Session.
func (s *Session) Begin(ctx context.Context, agentID string) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.unlock()
	_, err := s.writer(ctx, agentID)
	return err
}

// Open records which run of the agent is on the connection, and returns whether it is
// superseded. If it isn't, what the agent says about itself, for people, is stored soon.
func (s *Session) Open(ctx context.Context, agentID, run string, yields bool, said store.AgentDescription) (superseded bool, err error) {
	if err := s.lock(ctx); err != nil {
		return false, err
	}
	defer s.unlock()
	w, err := s.writer(ctx, agentID)
	if err != nil {
		return false, err
	}
	superseded = s.fleet.writers.open(w, run, yields)
	if none := (store.AgentDescription{}); !superseded && said != none && said != w.said { // none: an old agent
		w.said = said
		s.fleet.seen.describe(agentID, said)
	}
	return superseded, nil
}

// lock waits for the session's turn to push.
func (s *Session) lock(ctx context.Context) error { return s.turn.Acquire(ctx, 1) }

func (s *Session) unlock() { s.turn.Release(1) }

// writer returns the session's writer for the agent. If there is none, it begins a
// generation. The caller has the turn.
func (s *Session) writer(ctx context.Context, agentID string) (*writer, error) {
	if w := s.writes[agentID]; w != nil {
		return w, nil
	}
	if err := s.fleet.presence.begun(ctx); err != nil {
		return nil, err
	}
	generation, found, err := s.fleet.opts.Store.BeginSession(ctx, agentID, s.fleet.opts.Self.ID)
	if err != nil {
		return nil, err
	}
	s.writes[agentID] = s.fleet.writers.add(s, agentID, generation, found)
	return s.writes[agentID], nil
}

// End implements transport.Session.
func (s *Session) End() {
	s.fleet.writers.remove(s)
	for agentID, w := range s.writes {
		s.fleet.seen.gone(agentID, w.generation)
	}
	s.fleet.seen.some.Set() // it may be the last connection of an agent whose session has ended
}

// Push stores a checked push.
func (s *Session) Push(ctx context.Context, agentID string, p *store.Push) (store.PushResult, error) {
	if err := s.lock(ctx); err != nil {
		return store.PushResult{}, err
	}
	defer s.unlock()
	w, err := s.writer(ctx, agentID)
	if err != nil {
		return store.PushResult{}, err
	}
	p.Hub, p.Run = s.fleet.opts.Self.ID, s.fleet.writers.pushing(w)
	result, err := s.fleet.opts.Store.Push(ctx, agentID, w.generation, *p)
	switch {
	case result.Accepted:
		s.fleet.writers.accepted(w)
	case errors.Is(err, store.ErrSuperseded):
		s.fleet.writers.refused(w)
	default:
		s.fleet.writers.failed(w)
	}
	return result, err
}
