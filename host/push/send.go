package push

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"waymark/wire"
	"waymark/wire/coder"
	"waymark/wire/waymark"
)

// answer is what a peer says to a push that it doesn't refuse.
type answer struct {
	accepted   bool
	fullNeeded bool // the delta had no base there
	deltas     bool // a delta against this push may follow
}

func (a answer) result() Result {
	switch {
	case a.accepted:
		return ResultAccepted
	case a.fullNeeded:
		return ResultFullNeeded
	default:
		return ResultNotAccepted
	}
}

// send pushes content, as a delta where the peer takes one, and else the
// whole.
func (s *session) send(ctx context.Context, version uint64, content *prepared) (answer, error) {
	head, err := s.head(version)
	if err != nil {
		return answer{}, err
	}
	if s.deltas {
		delta, err := content.delta(head, s.last, s.lastVersion)
		if err != nil {
			return answer{}, err
		}
		if delta != nil {
			got, err := s.sendOnce(ctx, delta, true)
			if err != nil || !got.fullNeeded {
				return got, err
			}
		}
	}
	full, err := content.full(head)
	if err != nil {
		return answer{}, err
	}
	return s.sendOnce(ctx, full, false)
}

// open asks the peer whether it is a hub, and has it give this connection its
// place in the order of the agent's connections. It does so once.
func (s *session) open(ctx context.Context) error {
	if s.opened {
		return nil
	}
	begin := time.Now()
	err := s.p.call(ctx, s.conn, wire.MethodOpen, nil, &waymark.OpenResponse{})
	switch {
	case wire.IsUnimplemented(err):
		s.protocol = wire.ProtocolCoder
	case err != nil:
		s.p.observe(Attempt{Result: resultOf(ctx, err), Protocol: s.protocol, Duration: time.Since(begin)})
		return err
	}
	s.opened = true
	return nil
}

// head encodes version and initial. They go in front of the content, which is
// encoded without them: in protobuf, that is one message.
func (s *session) head(version uint64) ([]byte, error) {
	initial := s.last == nil
	if s.protocol == wire.ProtocolWaymark {
		return proto.Marshal(&waymark.PushRequest{Version: version, Initial: initial})
	}
	return proto.Marshal(&coder.PushContextStateRequest{Version: version, Initial: initial})
}

// sendOnce makes one call and tells who observes.
func (s *session) sendOnce(ctx context.Context, request []byte, delta bool) (got answer, err error) {
	begin := time.Now()
	defer func() {
		attempt := Attempt{
			Result: got.result(), Protocol: s.protocol, Delta: delta, Bytes: len(request), Duration: time.Since(begin),
		}
		if err != nil {
			attempt.Result = resultOf(ctx, err)
		}
		s.p.observe(attempt)
	}()
	if len(request) > wire.MaxMessage { // the peer would drop the call without a word
		return answer{}, fmt.Errorf("the push has %d bytes, a message at most %d", len(request), wire.MaxMessage)
	}
	if s.protocol == wire.ProtocolWaymark {
		var out waymark.PushResponse
		err = s.p.call(ctx, s.conn, wire.MethodPush, request, &out)
		return answer{accepted: out.GetAccepted(), fullNeeded: out.GetFullNeeded() && delta, deltas: out.GetDeltas()}, err
	}
	var out coder.PushContextStateResponse
	err = s.p.call(ctx, s.conn, wire.MethodPushContextState, request, &out)
	return answer{accepted: out.GetAccepted()}, err
}
