package hub

import (
	"context"
	"encoding/hex"
	"errors"
	"log/slog"
	"strings"
	"time"

	"golang.org/x/sync/semaphore"
	"storj.io/drpc"
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
