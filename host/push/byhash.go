package push

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"waymark/snapshot"
	"waymark/wire"
	"waymark/wire/convert"
	"waymark/wire/waymark"
)

// takes is what a hub takes beyond what every peer does. The zero value: nothing.
type takes struct {
	byHash bool
	// message bounds a message, in bytes; resources and bytes bound the resources
	// and the sum of their payloads, payload each of these: 0 is as every peer has it.
	message, resources, bytes, payload int
	// claims says that it takes claims, facts that it keeps those of resources.
	claims, facts bool
}

// leastMessage is the smallest bound on messages that does: a payload and a
// resource without one have to fit into one, each with what is around it.
const leastMessage = 512 << 10

// takesOf reads a hub's answer. A hub that takes less than every peer does is one
// that takes no pushes by hash.
func takesOf(m *waymark.Takes) takes {
	if !m.GetByHash() || m.GetMaxMessage() < leastMessage || m.GetMaxResources() < wire.MaxResources || m.GetMaxBytes() < wire.MaxBodies {
		return takes{}
	}
	// More than this no snapshot has, whatever the hub takes.
	return takes{
		byHash:  true,
		message: int(min(m.GetMaxMessage(), wire.MaxPart)), resources: int(min(m.GetMaxResources(), wire.MaxHubResources)),
		bytes: int(min(m.GetMaxBytes(), wire.MaxHubBytes)), payload: int(min(m.GetMaxPayload(), wire.MaxPayload)),
		claims: m.GetClaims(), facts: m.GetFacts(),
	}
}

const (
	// inlinePayload is how long a payload may be that is sent without being asked
	// for: not much longer than what names it.
	inlinePayload = 128
	// slack is room in a message for version, initial and what the framing adds.
	slack = 1024
	// maxRounds bounds how often a hub may want payloads of one push: it wants some
	// again only when it has dropped them meanwhile.
	maxRounds = 3
)

// named reports whether the payload is named in a push by hash.
func named(r *snapshot.Resource) bool { return len(r.Payload) > inlinePayload }

// manifestRow translates one resource as it is in a manifest.
func manifestRow(r *snapshot.Resource) *waymark.Resource {
	if !named(r) {
		return convert.ResourceToWaymark(r)
	}
	return convert.ResourceByHash(r, convert.Body{SHA256: sha256.Sum256(r.Payload), Size: int64(len(r.Payload))})
}

// roughSize is at least what r takes in a manifest, and quickly told.
func roughSize(r *snapshot.Resource) int {
	const fields = 200 // tags, lengths, numbers, and what names a payload
	n := fields + len(r.Kind) + len(r.Source) + len(r.Key) + len(r.SourcePath) + len(r.Name) + len(r.Description) +
		len(r.Error) + len(r.ContentHash) + len(r.Resolver)
	if !named(r) {
		n += len(r.Payload)
	}
	const attribute, item = 40, 8
	for key, a := range r.Attributes {
		n += attribute + len(key) + len(a.Text)
		for _, s := range a.List {
			n += item + len(s)
		}
	}
	n += len(r.Convention) + len(r.Scope)
	for _, reader := range r.Readers {
		n += item + len(reader)
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		n += attribute + len(f.Code) + len(f.Severity) + len(f.Message)
	}
	return n
}

// byHash is a push by hash under way.
type byHash struct {
	s        *session
	content  *prepared
	version  uint64
	sent     int // bytes
	bodies   int // payloads that were wanted
	response *waymark.PushResponse
}

// errNonsense says that the answers of a hub don't follow the protocol.
var errNonsense = errors.New("the hub's answer makes no sense")

// sendByHash pushes the whole content by hash: its manifest, and what the hub wants.
func (s *session) sendByHash(ctx context.Context, version uint64, content *prepared) (answer, error) {
	b := &byHash{s: s, content: content, version: version}
	var err error
	s.observed(ctx, func() (Attempt, error) {
		var got answer
		if err = b.manifest(ctx); err == nil {
			err = b.payloads(ctx)
		}
		if err == nil {
			got = b.answer()
		}
		return Attempt{Result: got.result(), Bytes: b.sent, Bodies: b.bodies}, err
	})
	if err != nil {
		return answer{}, err
	}
	return b.answer(), nil
}

func (b *byHash) answer() answer {
	return answer{accepted: b.response.GetAccepted(), deltas: b.response.GetDeltas()}
}

// call sends one message; more says that the hub has to wait for another one.
func (b *byHash) call(ctx context.Context, method string, request []byte, more bool) error {
	if len(request) > b.s.takes.message {
		return fmt.Errorf("a message of the push has %d bytes, the hub takes %d", len(request), b.s.takes.message)
	}
	b.response = &waymark.PushResponse{}
	b.sent += len(request)
	err := b.s.p.call(ctx, b.s.conn, method, request, b.response)
	if err == nil && more && (!b.response.GetContinues() || len(b.response.GetWanted()) > 0) {
		return errNonsense
	}
	return err
}

// manifest sends everything but payloads, in as many messages as it takes.
func (b *byHash) manifest(ctx context.Context) error {
	head := convert.ToWaymark(b.content.head)
	head.Version, head.Initial = b.version, b.s.last == nil
	rest := b.content.rows
	room := b.s.takes.message - slack
	list, rest := partOf(rest, room-proto.Size(head))
	head.Resources, head.More = list, len(rest) > 0
	request, err := marshal(nil, head)
	if err != nil {
		return err
	}
	if err := b.call(ctx, wire.MethodPush, request, head.More); err != nil {
		return err
	}
	for len(rest) > 0 {
		list, rest = partOf(rest, room)
		more := &waymark.PushMoreRequest{Version: b.version, Resources: list, More: len(rest) > 0}
		if request, err = marshal(nil, more); err != nil {
			return err
		}
		if err := b.call(ctx, wire.MethodPushMore, request, more.More); err != nil {
			return err
		}
	}
	return nil
}

// partOf translates the first rows, as far as there is room for them, of which there
// is for one at least.
func partOf(rows []*row, room int) (list []*waymark.Resource, rest []*row) {
	for i, w := range rows {
		if room -= w.rough; room < 0 && i > 0 {
			return list, rows[i:]
		}
		list = append(list, manifestRow(&w.r))
	}
	return list, nil
}

// payloads sends what the hub wants.
func (b *byHash) payloads(ctx context.Context) error {
	for range maxRounds {
		if !b.response.GetContinues() {
			return nil
		}
		wanted := b.response.GetWanted()
		if err := b.check(wanted); err != nil {
			return err
		}
		b.bodies += len(wanted)
		for len(wanted) > 0 {
			more := &waymark.PushMoreRequest{Version: b.version}
			more.Payloads, wanted = b.some(wanted)
			request, err := marshal(nil, more)
			if err != nil {
				return err
			}
			if err := b.call(ctx, wire.MethodPushMore, request, len(wanted) > 0); err != nil {
				return err
			}
		}
	}
	if b.response.GetContinues() {
		return errNonsense
	}
	return nil
}

// check reports whether the hub wants what it can want.
func (b *byHash) check(wanted []uint32) error {
	if len(wanted) == 0 {
		return errNonsense
	}
	for n, i := range wanted {
		if n > 0 && i <= wanted[n-1] || int(i) >= len(b.content.rows) || !named(&b.content.rows[i].r) {
			return errNonsense
		}
	}
	return nil
}

// some returns the first of the payloads that are wanted, as far as a message has
// room for them.
func (b *byHash) some(wanted []uint32) (list []*waymark.Payload, rest []uint32) {
	const frame = 32
	room := b.s.takes.message - slack
	for n, i := range wanted {
		payload := b.content.rows[i].r.Payload
		if room -= len(payload) + frame; room < 0 && n > 0 {
			return list, wanted[n:]
		}
		list = append(list, &waymark.Payload{Resource: i, Payload: payload})
	}
	return list, nil
}
