package hub

import (
	"context"
	"errors"
	"log/slog"

	"storj.io/drpc/drpcerr"

	"waymark/host/snapshot"
	"waymark/hub/store"
	"waymark/wire"
	"waymark/wire/coder"
	"waymark/wire/convert"
	"waymark/wire/waymark"
)

// contextService is waymark.v1.Context.
type contextService struct{ hub *Hub }

// Push implements waymark.DRPCContextServer.
func (s *contextService) Push(ctx context.Context, request *waymark.PushRequest) (*waymark.PushResponse, error) {
	snap, err := fromWaymark(request)
	if err != nil {
		return nil, s.hub.refuse(ctx, wire.ProtocolWaymark, err)
	}
	accepted, err := s.hub.push(ctx, wire.ProtocolWaymark, request.GetInitial(), snap)
	if err != nil {
		return nil, err
	}
	return &waymark.PushResponse{Accepted: accepted}, nil
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
	accepted, err := s.hub.push(ctx, wire.ProtocolCoder, request.GetInitial(), snap)
	if err != nil {
		return nil, err
	}
	return &coder.PushContextStateResponse{Accepted: accepted}, nil
}

// refuse logs that a push broke a rule. Texts of rules never quote the push.
func (h *Hub) refuse(ctx context.Context, protocol wire.Protocol, err error) error {
	h.log.Warn("push refused", slog.String("agent", callerOf(ctx).agentID),
		slog.String("protocol", string(protocol)), slog.Any("error", err))
	return err
}

func callerOf(ctx context.Context) caller {
	c, _ := ctx.Value(callerKey{}).(caller)
	return c
}

// push stores a checked push.
func (h *Hub) push(ctx context.Context, protocol wire.Protocol, initial bool, snap *snapshot.Snapshot) (accepted bool, err error) {
	c := callerOf(ctx)
	var result store.PushResult
	generation, err := c.session.generation(ctx, h.store, c.agentID)
	if err == nil {
		result, err = h.store.Push(ctx, c.agentID, generation, store.Push{Initial: initial, Snapshot: *snap})
	}
	switch {
	case errors.Is(err, store.ErrSuperseded):
		return false, drpcerr.WithCode(h.refuse(ctx, protocol, store.ErrSuperseded), wire.CodeSuperseded)
	case errors.Is(err, store.ErrInvalid):
		return false, h.refuse(ctx, protocol, err)
	case errors.Is(err, store.ErrNotFound): // the agent was removed meanwhile
		return false, drpcerr.WithCode(errUnauthorized, wire.CodeUnauthorized)
	case err != nil && ctx.Err() != nil:
		return false, ctx.Err()
	case err != nil:
		h.log.Error("push not stored", slog.String("agent", c.agentID), slog.Any("error", err))
		return false, errInternal
	}
	h.log.Debug("push stored", slog.String("agent", c.agentID), slog.String("protocol", string(protocol)),
		slog.Bool("accepted", result.Accepted), slog.Uint64("version", snap.Version),
		slog.Int("resources", len(snap.Resources)), slog.Int64("revision", result.Revision))
	return result.Accepted, nil
}
