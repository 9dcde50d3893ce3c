package ingest

import (
	"context"
	"encoding/hex"
	"errors"
	"log/slog"
	"strings"

	"storj.io/drpc"
	"storj.io/drpc/drpcerr"
	"storj.io/drpc/drpcmux"

	"waymark/hub/fleet"
	"waymark/hub/store"
	"waymark/hub/transport"
	"waymark/wire"
	"waymark/wire/coder"
	"waymark/wire/rules"
	"waymark/wire/waymark"
)

// Options configure a Service. Observe may be nil.
type Options struct {
	Store store.Store
	Fleet *fleet.Fleet
	Log   *slog.Logger
	// Observe is called for every push, in the goroutine that serves it.
	Observe func(PushObserved)
	// Reverse serves an agent's reverse channel until that ends.
	Reverse func(waymark.DRPCContext_ReverseStream) error
}

// Service serves the calls of agents. It has the methods of transport.Services that concern
// calls. Make one with New.
type Service struct {
	opts Options
	mux  *drpcmux.Mux
}

// New makes a Service.
func New(opts Options) (*Service, error) {
	s := &Service{opts, drpcmux.New()}
	return s, errors.Join(waymark.DRPCRegisterContext(s.mux, s), coder.DRPCRegisterAgent(s.mux, s))
}

// NewSession implements transport.Services.
func (s *Service) NewSession(end func(why error)) transport.Session {
	return &session{s.opts.Fleet.NewSession(end), s.mux}
}

// session is a connection.
type session struct {
	*fleet.Session
	mux *drpcmux.Mux
}

// HandleRPC implements transport.Session.
func (s *session) HandleRPC(stream drpc.Stream, method string) error {
	if strings.HasPrefix(method, wire.ServiceAgent) && method != wire.MethodPushContextState {
		return drpcerr.WithCode(errUnimplemented, wire.CodeUnimplemented)
	}
	return s.mux.HandleRPC(stream, method)
}

// callerOf returns the agent of the call in ctx, and its session.
func callerOf(ctx context.Context) (agentID string, s *session) {
	call := transport.CallOf(ctx)
	s, _ = call.Session.(*session) // NewSession makes no other type
	return call.AgentID, s
}

// Open implements waymark.DRPCContextServer. A WebSocket got its generation at the
// handshake.
func (s *Service) Open(ctx context.Context, request *waymark.OpenRequest) (*waymark.OpenResponse, error) {
	if err := rules.Open(request); err != nil {
		return nil, s.refuse(ctx, wire.ProtocolWaymark, err)
	}
	agentID, session := callerOf(ctx)
	var said store.AgentDescription
	said.Hostname, said.Root, said.AgentVersion = rules.Description(request)
	superseded, err := session.Open(ctx, agentID, hex.EncodeToString(request.GetRunId()), request.GetYields(), said)
	if err != nil {
		return nil, s.failed(ctx, wire.ProtocolWaymark, err)
	}
	if superseded { // it won't push
		transport.CallOf(ctx).Current()
	}
	return &waymark.OpenResponse{Superseded: superseded}, nil
}

// Push implements waymark.DRPCContextServer.
func (s *Service) Push(ctx context.Context, request *waymark.PushRequest) (*waymark.PushResponse, error) {
	p, err := rules.Waymark(request)
	if err != nil {
		return nil, s.refuse(ctx, wire.ProtocolWaymark, err)
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
	result, err := s.push(ctx, wire.ProtocolWaymark, &push)
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
func (s *Service) Upload(ctx context.Context, request *waymark.UploadRequest) (*waymark.UploadResponse, error) {
	if err := rules.Payloads(request.GetPayloads(), wire.MaxUpload); err != nil {
		return nil, s.refuse(ctx, wire.ProtocolWaymark, err)
	}
	outcomeOf(ctx).result = PushContinues
	return &waymark.UploadResponse{}, s.keep(ctx, request.GetPayloads())
}

// keep stores payloads for a later push.
func (s *Service) keep(ctx context.Context, payloads [][]byte) error {
	if len(payloads) == 0 {
		return nil
	}
	agentID, _ := callerOf(ctx)
	if err := s.opts.Store.Upload(ctx, agentID, payloads); err != nil {
		return s.failed(ctx, wire.ProtocolWaymark, err)
	}
	return nil
}

// Reverse implements waymark.DRPCContextServer.
func (s *Service) Reverse(stream waymark.DRPCContext_ReverseStream) error {
	return s.opts.Reverse(stream)
}

// errUnimplemented answers the other methods of coder.agent.v2.Agent, including future
// ones, like generated servers do. Without its code a Coder agent would consider the
// connection broken.
var errUnimplemented = errors.New("Unimplemented")

// PushContextState implements coder.DRPCAgentServer.
func (s *Service) PushContextState(ctx context.Context, request *coder.PushContextStateRequest) (*coder.PushContextStateResponse, error) {
	snap, err := rules.Coder(request)
	if err != nil {
		return nil, s.refuse(ctx, wire.ProtocolCoder, err)
	}
	result, err := s.push(ctx, wire.ProtocolCoder, &store.Push{Initial: request.GetInitial(), Snapshot: *snap})
	if err != nil {
		return nil, err
	}
	return &coder.PushContextStateResponse{Accepted: result.Accepted}, nil
}

// refuse logs that a push broke a rule. The texts of rules never quote the push.
func (s *Service) refuse(ctx context.Context, protocol wire.Protocol, err error) error {
	agentID, _ := callerOf(ctx)
	outcomeOf(ctx).result = PushRefused
	s.opts.Log.Warn("push refused", slog.String("agent", agentID),
		slog.String("protocol", string(protocol)), slog.Any("error", err))
	return err
}

// push stores a checked push of the caller, unless payloads are missing.
func (s *Service) push(ctx context.Context, protocol wire.Protocol, p *store.Push) (store.PushResult, error) {
	agentID, session := callerOf(ctx)
	result, err := session.Push(ctx, agentID, p)
	if errors.Is(err, store.ErrFullNeeded) {
		outcomeOf(ctx).result = PushFullNeeded
		return result, err
	}
	if err != nil {
		return store.PushResult{}, s.failed(ctx, protocol, err)
	}
	if len(result.Missing) > 0 {
		outcomeOf(ctx).result = PushContinues
		return result, nil
	}
	outcomeOf(ctx).stored(p.Partial(), result.Accepted)
	s.opts.Log.Debug("push stored", slog.String("agent", agentID), slog.String("protocol", string(protocol)),
		slog.Bool("accepted", result.Accepted), slog.Bool("delta", p.Partial()), slog.Uint64("version", p.Snapshot.Version),
		slog.Int("resources", len(p.Snapshot.Resources)), slog.Int64("revision", result.Revision))
	return result, nil
}

// failed returns the answer to an agent for an error of the store or of a rule.
func (s *Service) failed(ctx context.Context, protocol wire.Protocol, err error) error {
	switch {
	case errors.Is(err, store.ErrSuperseded):
		return drpcerr.WithCode(s.refuse(ctx, protocol, store.ErrSuperseded), wire.CodeSuperseded)
	case errors.Is(err, store.ErrInvalid):
		return s.refuse(ctx, protocol, err)
	case errors.Is(err, store.ErrNotFound): // the agent was removed meanwhile
		return transport.ErrUnauthorized
	case ctx.Err() != nil:
		return ctx.Err()
	}
	agentID, _ := callerOf(ctx)
	s.opts.Log.Error("push not stored", slog.String("agent", agentID), slog.Any("error", err))
	return transport.ErrInternal
}
