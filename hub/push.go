package hub

import (
	"context"
	"encoding/hex"
	"errors"
	"log/slog"
	"time"

	"golang.org/x/sync/semaphore"
	"storj.io/drpc/drpcerr"

	"waymark/hub/store"
	"waymark/hub/transport"
	"waymark/wire"
	"waymark/wire/coder"
	"waymark/wire/rules"
	"waymark/wire/waymark"
)

// services are the services of the hub's transport.
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
	asked := time.Now()
	valid, err := s.hub.store.ValidTokens(ctx, ids)
	if err == nil {
		s.hub.fresh.checked(ids, valid, asked)
	}
	return valid, err
}

// NewSession implements transport.Services.
func (s *services) NewSession(end func(why error)) transport.Session {
	session := &session{hub: s.hub, end: end, turn: semaphore.NewWeighted(1), writes: make(map[string]*writer)}
	return session
}

// callerOf returns the agent of the call in ctx, and its session.
func callerOf(ctx context.Context) (agentID string, s *session) {
	call := transport.CallOf(ctx)
	s, _ = call.Session.(*session) // NewSession makes no other type
	return call.AgentID, s
}

// contextService is waymark.v1.Context.
type contextService struct{ hub *Hub }

// Open implements waymark.DRPCContextServer. A WebSocket got its generation at the
// handshake.
func (s *contextService) Open(ctx context.Context, request *waymark.OpenRequest) (*waymark.OpenResponse, error) {
	if err := rules.Open(request); err != nil {
		return nil, s.hub.refuse(ctx, wire.ProtocolWaymark, err)
	}
	agentID, session := callerOf(ctx)
	var said store.AgentDescription
	said.Hostname, said.Root, said.AgentVersion = rules.Description(request)
	superseded, err := session.open(ctx, agentID, hex.EncodeToString(request.GetRunId()), request.GetYields(), said)
	if err != nil {
		return nil, s.hub.failed(ctx, wire.ProtocolWaymark, err)
	}
	return &waymark.OpenResponse{Superseded: superseded}, nil
}

// Push implements waymark.DRPCContextServer.
func (s *contextService) Push(ctx context.Context, request *waymark.PushRequest) (*waymark.PushResponse, error) {
	p, err := rules.Waymark(request)
	if err != nil {
		return nil, s.hub.refuse(ctx, wire.ProtocolWaymark, err)
	}
	push := store.Push{
		Snapshot:     *p.Snapshot,
		Update:       &store.Update{Base: p.Base, Name: p.Name, Head: p.Head, Removed: p.Removed},
		Bodies:       make(map[int]store.Body, len(p.Bodies)),
		MaxResources: wire.MaxHubResources, MaxPayload: wire.MaxHubBytes, MaxRows: wire.MaxRows,
	}
	for i, body := range p.Bodies {
		push.Bodies[i] = store.Body{Digest: body.SHA256, Size: body.Size}
		push.Snapshot.Resources[i].Payload = p.Payloads[body.SHA256]
	}
	result, err := s.hub.push(ctx, wire.ProtocolWaymark, &push)
	switch {
	case errors.Is(err, store.ErrFullNeeded):
		return &waymark.PushResponse{BaseUnknown: true}, nil
	case err != nil:
		return nil, err
	case len(result.Missing) == 0:
		return &waymark.PushResponse{Accepted: result.Accepted}, nil
	}
	if err := s.keep(ctx, request.GetPayloads()); err != nil {
		return nil, err
	}
	response, named := &waymark.PushResponse{}, make(map[store.Digest]bool)
	for _, i := range result.Missing {
		if name := push.Bodies[i].Digest; !named[name] {
			named[name] = true
			response.Wanted = append(response.Wanted, name[:])
		}
	}
	return response, nil
}

// Upload implements waymark.DRPCContextServer.
func (s *contextService) Upload(ctx context.Context, request *waymark.UploadRequest) (*waymark.UploadResponse, error) {
	if err := rules.Payloads(request.GetPayloads(), wire.MaxUpload); err != nil {
		return nil, s.hub.refuse(ctx, wire.ProtocolWaymark, err)
	}
	outcomeOf(ctx).result = PushContinues
	return &waymark.UploadResponse{}, s.keep(ctx, request.GetPayloads())
}

// keep stores payloads for a later push.
func (s *contextService) keep(ctx context.Context, payloads [][]byte) error {
	if len(payloads) == 0 {
		return nil
	}
	agentID, _ := callerOf(ctx)
	if err := s.hub.store.Upload(ctx, agentID, payloads); err != nil {
		return s.hub.failed(ctx, wire.ProtocolWaymark, err)
	}
	return nil
}

// errUnimplemented answers the other methods of coder.agent.v2.Agent, including future
// ones, like generated servers do. Without its code a Coder agent would consider the
// connection broken.
var errUnimplemented = errors.New("Unimplemented")

// agentService implements a single method of coder.agent.v2.Agent.
type agentService struct{ hub *Hub }

// PushContextState implements coder.DRPCAgentServer.
func (s *agentService) PushContextState(ctx context.Context, request *coder.PushContextStateRequest) (*coder.PushContextStateResponse, error) {
	snap, err := rules.Coder(request)
	if err != nil {
		return nil, s.hub.refuse(ctx, wire.ProtocolCoder, err)
	}
	result, err := s.hub.push(ctx, wire.ProtocolCoder, &store.Push{Initial: request.GetInitial(), Snapshot: *snap})
	if err != nil {
		return nil, err
	}
	return &coder.PushContextStateResponse{Accepted: result.Accepted}, nil
}

// refuse logs that a push broke a rule. The texts of rules never quote the push.
func (h *Hub) refuse(ctx context.Context, protocol wire.Protocol, err error) error {
	agentID, _ := callerOf(ctx)
	outcomeOf(ctx).result = PushRefused
	h.log.Warn("push refused", slog.String("agent", agentID),
		slog.String("protocol", string(protocol)), slog.Any("error", err))
	return err
}

// push stores a checked push of the caller, unless payloads are missing.
func (h *Hub) push(ctx context.Context, protocol wire.Protocol, p *store.Push) (store.PushResult, error) {
	agentID, session := callerOf(ctx)
	result, err := session.push(ctx, agentID, p)
	if errors.Is(err, store.ErrFullNeeded) {
		outcomeOf(ctx).result = PushFullNeeded
		return result, err
	}
	if err != nil {
		return store.PushResult{}, h.failed(ctx, protocol, err)
	}
	if len(result.Missing) > 0 {
		outcomeOf(ctx).result = PushContinues
		return result, nil
	}
	outcomeOf(ctx).stored(p.Partial(), result.Accepted)
	h.log.Debug("push stored", slog.String("agent", agentID), slog.String("protocol", string(protocol)),
		slog.Bool("accepted", result.Accepted), slog.Bool("delta", p.Partial()), slog.Uint64("version", p.Snapshot.Version),
		slog.Int("resources", len(p.Snapshot.Resources)), slog.Int64("revision", result.Revision))
	return result, nil
}

// failed returns the answer to an agent for an error of the store or of a rule.
func (h *Hub) failed(ctx context.Context, protocol wire.Protocol, err error) error {
	switch {
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
