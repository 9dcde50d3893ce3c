package hub

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"storj.io/drpc/drpcerr"

	"waymark/hub/transport"
	"waymark/wire"
	"waymark/wire/rules"
	"waymark/wire/waymark"
)

// maxManifestParts bounds the messages within those of a manifest, each of which
// takes a hundred bytes and more once it is decoded: fifty for each resource.
const maxManifestParts = 50 * wire.MaxHubResources

var (
	// errNoGathering is the answer to a PushMore that nothing came before.
	errNoGathering = drpcerr.WithCode(errors.New("the push that this goes on with is not here any more; begin anew"), wire.CodeBusy)
	errNoRoom      = drpcerr.WithCode(errors.New("too many large pushes at a time; try again later"), wire.CodeBusy)
	errPartTooLong = drpcerr.WithCode(fmt.Errorf("a message of a push by hash has at most %d bytes", wire.MaxPart), wire.CodeTooLarge)
)

// gathering is a push by hash that isn't complete. Whoever has taken it owns it.
type gathering struct {
	agentID string
	session *session
	seq     uint64
	begun   time.Time
	// received is the length of all messages so far, manifest and parts that of
	// those with resources, and how many messages are within these.
	received, manifest, parts int
	// request has the resources as far as they have come; nil when all have.
	request *waymark.PushRequest
	// push is what they have become then, and wanted the indices of the payloads
	// that haven't come.
	push   *push
	wanted map[int]struct{}
	// awaited is the sum of the lengths of all payloads that were ever wanted.
	awaited int64

	// Of gatherings, under its lock:
	weight int64
	timer  *time.Timer
}

// add takes a message with resources, and completes the manifest when no more are
// to come.
func (g *gathering) add(h *Hub, call *transport.Call, resources []*waymark.Resource, more bool) error {
	g.manifest += call.Bytes
	g.parts += call.Parts
	if more || g.received > call.Bytes { // it comes in several messages
		if err := g.checkManifest(len(resources)); err != nil {
			return err
		}
	}
	if more {
		return nil
	}
	p, err := h.checked(g.request)
	g.request, g.push = nil, p
	return err
}

// checkManifest bounds a manifest of several messages, of which one brought so many
// resources.
func (g *gathering) checkManifest(brought int) error {
	switch {
	case brought == 0:
		return errors.New("a message has no resources")
	case g.manifest > wire.MaxManifest:
		return fmt.Errorf("resources are longer than the %d bytes of a manifest together", wire.MaxManifest)
	case g.parts > maxManifestParts:
		return fmt.Errorf("the resources have more than %d parts", maxManifestParts)
	}
	return rules.Count(len(g.request.GetResources()))
}

// more takes a message that isn't the first one.
func (g *gathering) more(h *Hub, call *transport.Call, request *waymark.PushMoreRequest) error {
	resources, payloads := request.GetResources(), request.GetPayloads()
	switch {
	case g.request != nil && request.GetVersion() != g.request.GetVersion(), g.push != nil && request.GetVersion() != g.push.Snapshot.Version:
		return errors.New("version is not that of the push")
	case g.request != nil && len(payloads) > 0:
		return errors.New("payloads before the resources are complete")
	case g.request != nil:
		g.request.Resources = append(g.request.Resources, resources...)
		return g.add(h, call, resources, request.GetMore())
	case len(resources) > 0 || request.GetMore():
		return errors.New("resources after they were complete")
	case len(payloads) == 0:
		return errors.New("a message has no payloads")
	}
	for i, payload := range payloads {
		if err := g.payload(payload); err != nil {
			return fmt.Errorf("payload %d: %w", i, err)
		}
	}
	return nil
}

func (g *gathering) payload(payload *waymark.Payload) error {
	i := int(payload.GetResource())
	if _, wanted := g.wanted[i]; !wanted {
		return errors.New("it isn't wanted, or has come already")
	}
	r := &g.push.Snapshot.Resources[i]
	r.Payload = payload.GetPayload()
	if r.Payload == nil {
		r.Payload = []byte{}
	}
	delete(g.wanted, i)
	return rules.Body(r, g.push.named[i])
}

// want sets what is wanted.
func (g *gathering) want(missing []int) {
	g.wanted = make(map[int]struct{}, len(missing))
	for _, i := range missing {
		g.wanted[i] = struct{}{}
		g.awaited += g.push.named[i].Size
	}
}

// due is when the next message has to have come.
func (g *gathering) due(read time.Duration) time.Time {
	return g.begun.Add(read + time.Duration(g.received)*time.Second/transport.MinUpload)
}

// heaviness is what the gathering takes of transport.Limits.Gathered: decoded, a
// message takes up to twice its bytes, and what each of its parts does.
func (g *gathering) heaviness() int64 { return int64(2*g.manifest+128*g.parts) + g.awaited }

// gatherings are the pushes by hash that wait for their next message, at most one
// of each agent: a new one takes the place of what its connection, or an older
// one, had begun.
type gatherings struct {
	room int64
	read time.Duration

	mu      sync.Mutex // guards the rest
	seq     uint64
	byAgent map[string]*gathering
	weight  int64
}

func (gs *gatherings) init(limits transport.Limits) {
	gs.room, gs.read, gs.byAgent = limits.Gathered, limits.Read, make(map[string]*gathering)
}

// begin makes one, which takes the place of an older one.
func (gs *gatherings) begin(agentID string, s *session) *gathering {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	gs.remove(gs.byAgent[agentID])
	gs.seq++
	return &gathering{agentID: agentID, session: s, seq: gs.seq, begun: time.Now()}
}

// take returns the one of the session, nil where there is none. It counts until it
// is given to keep or drop.
func (gs *gatherings) take(agentID string, s *session) *gathering {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	g := gs.byAgent[agentID]
	if g == nil || g.session != s {
		return nil
	}
	delete(gs.byAgent, agentID)
	g.timer.Stop()
	return g
}

// keep has it wait for the next message. Where there is no room for that, or a newer
// one has begun, it is dropped; the error is the answer.
func (gs *gatherings) keep(g *gathering) error {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	other := gs.byAgent[g.agentID]
	more := g.heaviness() - g.weight
	switch {
	case other != nil && other.seq > g.seq:
		gs.weight -= g.weight
		return errNoGathering
	case gs.weight+more > gs.room:
		gs.weight -= g.weight
		return errNoRoom
	}
	gs.remove(other)
	g.weight += more
	gs.weight += more
	gs.byAgent[g.agentID] = g
	g.timer = time.AfterFunc(time.Until(g.due(gs.read)), func() {
		gs.mu.Lock()
		defer gs.mu.Unlock()
		if gs.byAgent[g.agentID] == g && !time.Now().Before(g.due(gs.read)) { // no message came meanwhile
			gs.remove(g)
		}
	})
	return nil
}

// drop forgets one that was taken.
func (gs *gatherings) drop(g *gathering) {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	gs.weight -= g.weight
}

// remove forgets one that waits, if it does. gs.mu is held.
func (gs *gatherings) remove(g *gathering) {
	if g == nil || gs.byAgent[g.agentID] != g {
		return
	}
	delete(gs.byAgent, g.agentID)
	g.timer.Stop()
	gs.weight -= g.weight
}

// end forgets what a session has begun.
func (gs *gatherings) end(s *session) {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	for agentID := range s.gathers {
		if g := gs.byAgent[agentID]; g != nil && g.session == s {
			gs.remove(g)
		}
	}
}

// bytes is what the pushes that aren't complete take of the room.
func (gs *gatherings) bytes() int64 {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	return gs.weight
}

// Push implements waymark.DRPCContextServer. A push that brings all that it
// needs is one that is complete at once.
func (s *contextService) Push(ctx context.Context, request *waymark.PushRequest) (*waymark.PushResponse, error) {
	agentID, session := callerOf(ctx)
	if err := session.lock(ctx); err != nil {
		return nil, err
	}
	defer session.unlock()
	session.gathers[agentID] = struct{}{}
	g := s.hub.gathering.begin(agentID, session)
	g.request = request
	return s.hub.advance(ctx, g, func(call *transport.Call) error {
		if request.GetMore() && request.GetDelta() != nil {
			return errors.New("a delta can't be a push by hash")
		}
		return g.add(s.hub, call, request.GetResources(), request.GetMore())
	})
}

// PushMore implements waymark.DRPCContextServer.
func (s *contextService) PushMore(ctx context.Context, request *waymark.PushMoreRequest) (*waymark.PushResponse, error) {
	agentID, session := callerOf(ctx)
	if err := session.lock(ctx); err != nil {
		return nil, err
	}
	defer session.unlock()
	g := s.hub.gathering.take(agentID, session)
	if g == nil {
		return nil, errNoGathering
	}
	return s.hub.advance(ctx, g, func(call *transport.Call) error { return g.more(s.hub, call, request) })
}

// advance has a gathering take a message, stores the push if that was all, and
// keeps or drops the gathering. The caller has the session's turn.
func (h *Hub) advance(ctx context.Context, g *gathering, take func(*transport.Call) error) (*waymark.PushResponse, error) {
	call := transport.CallOf(ctx)
	g.received += call.Bytes
	response, err := h.answer(ctx, g, call, take)
	if err != nil || !response.GetContinues() {
		h.gathering.drop(g)
		return response, err
	}
	if call.Bytes > wire.MaxPart {
		h.gathering.drop(g)
		return nil, errPartTooLong
	}
	if err := h.gathering.keep(g); err != nil {
		return nil, err
	}
	outcomeOf(ctx).result = PushContinues
	return response, nil
}

func (h *Hub) answer(ctx context.Context, g *gathering, call *transport.Call, take func(*transport.Call) error) (*waymark.PushResponse, error) {
	if err := take(call); err != nil {
		return nil, h.refuse(ctx, wire.ProtocolWaymark, err)
	}
	if g.push == nil || len(g.wanted) > 0 {
		return &waymark.PushResponse{Continues: true}, nil
	}
	result, err := h.push(ctx, g.session, g.agentID, g.push)
	switch {
	case errors.Is(err, errFullNeeded):
		outcomeOf(ctx).result = PushFullNeeded
		return &waymark.PushResponse{FullNeeded: true}, nil
	case err != nil:
		return nil, err
	case len(result.Missing) > 0:
		g.want(result.Missing)
		wanted := make([]uint32, len(result.Missing))
		for i, index := range result.Missing {
			wanted[i] = uint32(index) //nolint:gosec // of at most wire.MaxHubResources
		}
		return &waymark.PushResponse{Continues: true, Wanted: wanted}, nil
	}
	outcomeOf(ctx).before = g.received - call.Bytes
	return &waymark.PushResponse{Accepted: result.Accepted, Deltas: result.Accepted}, nil
}
