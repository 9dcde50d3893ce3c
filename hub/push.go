package hub

import (
	"context"
	"errors"
	"log/slog"

	"storj.io/drpc/drpcerr"

	"waymark/hub/store"
	"waymark/wire"
	"waymark/wire/coder"
	"waymark/wire/convert"
	"waymark/wire/waymark"
)

// contextService is waymark.v1.Context.
type contextService struct{ hub *Hub }

// Open implements waymark.DRPCContextServer. A WebSocket has its generation
// from the handshake.
func (s *contextService) Open(ctx context.Context, _ *waymark.OpenRequest) (*waymark.OpenResponse, error) {
	c := callerOf(ctx)
	if err := c.session.lock(ctx); err != nil {
		return nil, err
	}
	defer c.session.unlock()
	if _, err := c.session.state(ctx, s.hub.store, c.agentID); err != nil {
		return nil, s.hub.failed(ctx, wire.ProtocolWaymark, err)
	}
	return &waymark.OpenResponse{}, nil
}

// Push implements waymark.DRPCContextServer.
func (s *contextService) Push(ctx context.Context, request *waymark.PushRequest) (*waymark.PushResponse, error) {
	snap, removed, err := fromWaymark(request)
	if err != nil {
		return nil, s.hub.refuse(ctx, wire.ProtocolWaymark, err)
	}
	p := &push{
		protocol: wire.ProtocolWaymark,
		Push: store.Push{
			Initial: request.GetInitial(), Snapshot: *snap,
			Delta: request.GetDelta() != nil, BaseVersion: request.GetDelta().GetBaseVersion(), Removed: removed,
		},
		after: func(before *base) (*base, error) { return s.hub.nextBase(before, request, snap, removed) },
	}
	accepted, err := s.hub.push(ctx, p)
	if errors.Is(err, errFullNeeded) {
		callerOf(ctx).note.fullNeeded()
		return &waymark.PushResponse{FullNeeded: true}, nil
	}
	if err != nil {
		return nil, err
	}
	return &waymark.PushResponse{Accepted: accepted, Deltas: accepted}, nil
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
	mendCoder(request)
	if err := checkCoder(request); err != nil {
		return nil, s.hub.refuse(ctx, wire.ProtocolCoder, err)
	}
	snap, err := convert.FromCoder(request)
	if err != nil {
		return nil, s.hub.refuse(ctx, wire.ProtocolCoder, err)
	}
	accepted, err := s.hub.push(ctx, &push{
		protocol: wire.ProtocolCoder,
		Push:     store.Push{Initial: request.GetInitial(), Snapshot: *snap},
		after:    func(*base) (*base, error) { return nil, nil },
	})
	if err != nil {
		return nil, err
	}
	return &coder.PushContextStateResponse{Accepted: accepted}, nil
}

// refuse logs that a push broke a rule. Texts of rules never quote the push.
func (h *Hub) refuse(ctx context.Context, protocol wire.Protocol, err error) error {
	callerOf(ctx).note.refused()
	h.log.Warn("push refused", slog.String("agent", callerOf(ctx).agentID),
		slog.String("protocol", string(protocol)), slog.Any("error", err))
	return err
}

// push is a checked push on its way into the store.
type push struct {
	store.Push
	protocol wire.Protocol
	// after returns what the session's next delta may be against once the push
	// is stored, and an error where the push can't stand against before.
	after func(before *base) (*base, error)
}

// push stores a checked push.
func (h *Hub) push(ctx context.Context, p *push) (accepted bool, err error) {
	c := callerOf(ctx)
	if err := c.session.lock(ctx); err != nil {
		return false, err
	}
	defer c.session.unlock()
	result, err := h.pushLocked(ctx, c, p)
	if err != nil {
		return false, h.failed(ctx, p.protocol, err)
	}
	c.note.pushed(p.Delta, result.Accepted)
	h.log.Debug("push stored", slog.String("agent", c.agentID), slog.String("protocol", string(p.protocol)),
		slog.Bool("accepted", result.Accepted), slog.Bool("delta", p.Delta), slog.Uint64("version", p.Snapshot.Version),
		slog.Int("resources", len(p.Snapshot.Resources)), slog.Int64("revision", result.Revision))
	return result.Accepted, nil
}

// failed is what an agent is told when the store, or a rule, has said err.
func (h *Hub) failed(ctx context.Context, protocol wire.Protocol, err error) error {
	switch {
	case errors.Is(err, errFullNeeded), errors.Is(err, store.ErrFullNeeded):
		return errFullNeeded
	case errors.Is(err, store.ErrSuperseded):
		return drpcerr.WithCode(h.refuse(ctx, protocol, store.ErrSuperseded), wire.CodeSuperseded)
	case errors.Is(err, store.ErrInvalid):
		return h.refuse(ctx, protocol, err)
	case errors.Is(err, store.ErrNotFound): // the agent was removed meanwhile
		return drpcerr.WithCode(errUnauthorized, wire.CodeUnauthorized)
	case ctx.Err() != nil:
		return ctx.Err()
	}
	h.log.Error("push not stored", slog.String("agent", callerOf(ctx).agentID), slog.Any("error", err))
	return errInternal
}

// pushLocked is push for whoever has the session's turn.
func (h *Hub) pushLocked(ctx context.Context, c caller, p *push) (store.PushResult, error) {
	var before *base
	if state := c.session.states[c.agentID]; state != nil {
		before = state.base
	}
	after, err := p.after(before)
	if err != nil {
		if !errors.Is(err, errFullNeeded) {
			err = &invalidError{err}
		}
		return store.PushResult{}, err
	}
	state, err := c.session.state(ctx, h.store, c.agentID)
	if err != nil {
		return store.PushResult{}, err
	}
	result, err := h.store.Push(ctx, c.agentID, state.generation, p.Push)
	if result.Accepted {
		state.base = after // else it is still what it was, or the store will say that it isn't
	}
	return result, err
}

// invalidError makes the error of a rule match store.ErrInvalid.
type invalidError struct{ err error }

func (e *invalidError) Error() string        { return e.err.Error() }
func (e *invalidError) Is(target error) bool { return target == store.ErrInvalid }
