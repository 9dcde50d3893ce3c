package hub

import (
	"context"
	"encoding/hex"
	"errors"
	"log/slog"

	"storj.io/drpc"
	"storj.io/drpc/drpcerr"

	"waymark/hub/store"
	"waymark/hub/transport"
	"waymark/snapshot"
	"waymark/wire"
	"waymark/wire/coder"
	"waymark/wire/convert"
	"waymark/wire/rules"
	"waymark/wire/waymark"
)

// services are what the hub's transport serves.
type services struct{ hub *Hub }

// Authenticate implements transport.Services.
func (s *services) Authenticate(ctx context.Context, text string) (transport.Peer, error) {
	token, err := s.hub.lookup(ctx, text)
	if errors.Is(err, errUnauthorized) || err == nil && token.Role != store.RoleAgent {
		return transport.Peer{}, transport.ErrUnauthorized
	}
	return transport.Peer{TokenID: token.ID, AgentID: token.AgentID}, err
}

// ValidTokens implements transport.Services.
func (s *services) ValidTokens(ctx context.Context, ids []string) ([]string, error) {
	return s.hub.store.ValidTokens(ctx, ids)
}

// NewSession implements transport.Services.
func (s *services) NewSession(end func(why error)) transport.Session {
	session := &session{hub: s.hub, end: end, turn: make(chan struct{}, 1), states: make(map[string]*agentState), gathers: make(map[string]struct{})}
	session.turn <- struct{}{}
	return session
}

// session is what the hub knows of one connection. The calls of a connection of
// plain DRPC usually come with one agent's token, but nothing forbids several.
type session struct {
	hub *Hub
	// end ends the connection; see transport.Services.NewSession.
	end func(why error)
	// turn holds one element, which whoever pushes takes: a lock that can be
	// waited for with a context, and that is fit to be held while the store is
	// asked. It guards states and gathers.
	turn   chan struct{}
	states map[string]*agentState // by agent
	// gathers are the agents that have begun a push here.
	gathers map[string]struct{}
	// writers counts the agents; hub.writers guards it.
	writers int
}

// agentState is what a session knows of an agent that pushes on it.
type agentState struct {
	// writer is the session among the others of the agent.
	writer *writer
	// base is what a delta may be against; nil: nothing.
	base *base
}

// Begin implements transport.Session.
func (s *session) Begin(ctx context.Context, agentID string) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.unlock()
	_, err := s.state(ctx, agentID)
	return err
}

// open tells the hub which run of the agent is on the connection, and returns
// whether it has to stand back.
func (s *session) open(ctx context.Context, agentID, run string, yields bool) (superseded bool, err error) {
	if err := s.lock(ctx); err != nil {
		return false, err
	}
	defer s.unlock()
	state, err := s.state(ctx, agentID)
	if err != nil {
		return false, err
	}
	return s.hub.writers.open(state.writer, run, yields), nil
}

// HandleRPC implements transport.Session.
func (s *session) HandleRPC(stream drpc.Stream, method string) error {
	return s.hub.mux.HandleRPC(stream, method)
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
func (s *session) state(ctx context.Context, agentID string) (*agentState, error) {
	if state := s.states[agentID]; state != nil {
		return state, nil
	}
	generation, err := s.hub.store.BeginSession(ctx, agentID)
	if err != nil {
		return nil, err
	}
	state := &agentState{writer: s.hub.writers.add(s, agentID, generation)}
	s.states[agentID] = state
	return state, nil
}

// End implements transport.Session.
func (s *session) End() {
	for agentID := range s.states {
		s.hub.seen.gone(agentID)
	}
	s.hub.writers.remove(s)
	s.hub.gathering.end(s)
}

// callerOf returns the agent that makes the call of ctx, and its session.
func callerOf(ctx context.Context) (agentID string, s *session) {
	call := transport.CallOf(ctx)
	s, _ = call.Session.(*session) // NewSession makes no others
	return call.AgentID, s
}

// contextService is waymark.v1.Context.
type contextService struct{ hub *Hub }

// Open implements waymark.DRPCContextServer. A WebSocket has its generation
// from the handshake.
func (s *contextService) Open(ctx context.Context, request *waymark.OpenRequest) (*waymark.OpenResponse, error) {
	if err := rules.Open(request); err != nil {
		return nil, s.hub.refuse(ctx, wire.ProtocolWaymark, err)
	}
	agentID, session := callerOf(ctx)
	superseded, err := session.open(ctx, agentID, hex.EncodeToString(request.GetRunId()), request.GetYields())
	if err != nil {
		return nil, s.hub.failed(ctx, wire.ProtocolWaymark, err)
	}
	if !superseded {
		s.hub.describe(ctx, agentID, request)
	}
	return &waymark.OpenResponse{Superseded: superseded, Takes: &waymark.Takes{
		ByHash: true, MaxMessage: wire.MaxPart, MaxResources: wire.MaxHubResources, MaxBytes: wire.MaxHubBytes,
		Claims: true, Facts: true, MaxPayload: wire.MaxPayload,
	}}, nil
}

// describe writes down what an agent says of itself. It is for people: an agent whose
// description can't be stored pushes all the same.
func (h *Hub) describe(ctx context.Context, agentID string, request *waymark.OpenRequest) {
	var d store.AgentDescription
	d.Hostname, d.Root, d.AgentVersion = rules.Description(request)
	if d == (store.AgentDescription{}) {
		return // an older agent
	}
	if err := h.store.DescribeAgent(ctx, agentID, d); err != nil && ctx.Err() == nil {
		h.log.Warn("what an agent says of itself is not stored", slog.String("agent", agentID), slog.Any("error", err))
	}
}

// checked makes a push of a request whose resources are all there. The error is the
// rule that it breaks.
func (h *Hub) checked(request *waymark.PushRequest) (*push, error) {
	if request.Claim != nil {
		return claimed(request)
	}
	p, err := rules.Waymark(request)
	if err != nil {
		return nil, err
	}
	bodies := make(map[int]store.Body, len(p.Bodies))
	for i, body := range p.Bodies {
		bodies[i] = store.Body{Digest: body.SHA256, Size: body.Size}
	}
	delta, version := request.GetDelta(), request.GetVersion()
	rows := h.baseRows(request.GetResources(), p)
	return &push{
		protocol: wire.ProtocolWaymark,
		named:    p.Bodies,
		Push: store.Push{
			Initial: request.GetInitial(), Snapshot: *p.Snapshot, Bodies: bodies,
			Delta: delta != nil, BaseVersion: delta.GetBaseVersion(), Removed: p.Removed,
		},
		after: func(before *base) (*base, error) { return h.nextBase(before, delta, version, rows, p.Removed) },
	}, nil
}

// claimed is checked for a push that only says what it would bring.
func claimed(request *waymark.PushRequest) (*push, error) {
	name, err := rules.Claim(request)
	if err != nil {
		return nil, err
	}
	version := request.GetVersion()
	return &push{
		protocol: wire.ProtocolWaymark,
		Push:     store.Push{Initial: true, Snapshot: snapshot.Snapshot{Version: version}, Claim: &name},
		after:    func(*base) (*base, error) { return &base{version: version}, nil },
	}, nil
}

// agentService is the one method of coder.agent.v2.Agent that a hub has. The
// others answer Unimplemented with its code, unlike methods the mux doesn't
// know; that is why this one struct is embedded.
type agentService struct {
	coder.DRPCAgentUnimplementedServer
	hub *Hub
}

// PushContextState implements coder.DRPCAgentServer.
func (s *agentService) PushContextState(ctx context.Context, request *coder.PushContextStateRequest) (*coder.PushContextStateResponse, error) {
	snap, err := rules.Coder(request)
	if err != nil {
		return nil, s.hub.refuse(ctx, wire.ProtocolCoder, err)
	}
	agentID, session := callerOf(ctx)
	if err := session.lock(ctx); err != nil {
		return nil, err
	}
	defer session.unlock()
	result, err := s.hub.push(ctx, session, agentID, &push{
		protocol: wire.ProtocolCoder,
		Push:     store.Push{Initial: request.GetInitial(), Snapshot: *snap},
		after:    func(*base) (*base, error) { return nil, nil },
	})
	if err != nil {
		return nil, err
	}
	return &coder.PushContextStateResponse{Accepted: result.Accepted}, nil
}

// refuse logs that a push broke a rule. Texts of rules never quote the push.
func (h *Hub) refuse(ctx context.Context, protocol wire.Protocol, err error) error {
	agentID, _ := callerOf(ctx)
	outcomeOf(ctx).result = PushRefused
	h.log.Warn("push refused", slog.String("agent", agentID),
		slog.String("protocol", string(protocol)), slog.Any("error", err))
	return err
}

// push is a checked push on its way into the store.
type push struct {
	store.Push
	protocol wire.Protocol
	// named is Push.Bodies as it came.
	named map[int]convert.Body
	// after returns what the session's next delta may be against once the push
	// is stored, and an error where the push can't stand against before.
	after func(before *base) (*base, error)
}

// push stores a checked push, unless payloads are missing. The caller has the
// session's turn.
func (h *Hub) push(ctx context.Context, session *session, agentID string, p *push) (store.PushResult, error) {
	result, err := session.push(ctx, agentID, p)
	if err != nil {
		return store.PushResult{}, h.failed(ctx, p.protocol, err)
	}
	if len(result.Missing) > 0 {
		return result, nil
	}
	outcomeOf(ctx).stored(p.Delta, result.Accepted)
	h.log.Debug("push stored", slog.String("agent", agentID), slog.String("protocol", string(p.protocol)),
		slog.Bool("accepted", result.Accepted), slog.Bool("delta", p.Delta), slog.Uint64("version", p.Snapshot.Version),
		slog.Int("resources", len(p.Snapshot.Resources)), slog.Int64("revision", result.Revision))
	return result, nil
}

// failed returns the answer to an agent when the store, or a rule, has returned
// err.
func (h *Hub) failed(ctx context.Context, protocol wire.Protocol, err error) error {
	switch {
	case errors.Is(err, errFullNeeded), errors.Is(err, store.ErrFullNeeded):
		return errFullNeeded
	case errors.Is(err, store.ErrSuperseded):
		return drpcerr.WithCode(h.refuse(ctx, protocol, store.ErrSuperseded), wire.CodeSuperseded)
	case errors.Is(err, store.ErrInvalid):
		return h.refuse(ctx, protocol, err)
	case errors.Is(err, store.ErrNotFound): // the agent was removed meanwhile
		return transport.ErrUnauthorized
	case ctx.Err() != nil:
		return ctx.Err()
	}
	agentID, _ := callerOf(ctx)
	h.log.Error("push not stored", slog.String("agent", agentID), slog.Any("error", err))
	return transport.ErrInternal
}

// push stores a checked push. The caller has the session's turn.
func (s *session) push(ctx context.Context, agentID string, p *push) (store.PushResult, error) {
	var before *base
	if state := s.states[agentID]; state != nil {
		before = state.base
	}
	if err := s.hub.complete(ctx, agentID, p, before); err != nil {
		return store.PushResult{}, err
	}
	after, err := p.after(before)
	if err != nil {
		if !errors.Is(err, errFullNeeded) {
			err = &invalidError{err}
		}
		return store.PushResult{}, err
	}
	state, err := s.state(ctx, agentID)
	if err != nil {
		return store.PushResult{}, err
	}
	s.hub.writers.pushing(state.writer)
	result, err := s.hub.store.Push(ctx, agentID, state.writer.generation, p.Push)
	switch {
	case result.Accepted:
		state.base = after // else it is still what it was, or the store will say that it isn't
		s.hub.writers.accepted(state.writer)
	case errors.Is(err, store.ErrSuperseded):
		s.hub.writers.refused(state.writer)
	default:
		s.hub.writers.failed(state.writer)
	}
	return result, err
}

// invalidError makes the error of a rule match store.ErrInvalid.
type invalidError struct{ err error }

func (e *invalidError) Error() string        { return e.err.Error() }
func (e *invalidError) Is(target error) bool { return target == store.ErrInvalid }
