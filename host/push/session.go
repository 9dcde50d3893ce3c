package push

import (
	"context"
	"crypto/sha256"
	"errors"
	"time"

	"google.golang.org/protobuf/proto"
	"storj.io/drpc"

	"waymark/host/snapshot"
	"waymark/wire"
	"waymark/wire/coder"
	"waymark/wire/waymark"
)

// errConflict says that the peer didn't accept a push although its version
// was above everything this connection has sent.
var errConflict = errors.New("another agent writes this agent's context; stop one of the two, or give each a token of its own")

// session is the life of one connection. It belongs to Run's goroutine.
type session struct {
	p        *Pusher
	conn     drpc.Conn
	protocol wire.Protocol
	// done is the newest version that needs no more attention here: accepted,
	// equal to what was, or refused for good.
	done uint64
	// initial is true until a push has been answered.
	initial bool
	// last is the digest of the content that was pushed last; only valid when
	// initial is false.
	last [sha256.Size]byte
}

func newSession(p *Pusher, conn drpc.Conn) *session {
	return &session{p: p, conn: conn, protocol: wire.ProtocolWaymark, initial: true}
}

// serve pushes what is new until the connection ends, and returns how long to
// wait before the next one.
func (s *session) serve(ctx context.Context) time.Duration {
	for {
		next := s.wait(ctx)
		if next == nil {
			return s.p.failed(ctx, errLost)
		}
		err := s.push(ctx, next)
		switch {
		case err == nil:
			continue
		case ctx.Err() != nil:
			return 0
		case wire.IsUnimplemented(err):
			s.p.setState(StateUnimplemented, err)
			s.hold(ctx, 0)
			return s.p.backoff.next()
		}
		switch state := stateOf(err); state {
		case StateConflict:
			s.done = next.Version // a fight would begin with sending it again
			fallthrough
		case StateUnauthorized:
			s.p.setState(state, err)
			if !s.hold(ctx, s.p.backoff.slow()) {
				// The peer may have closed because of this very error.
				return s.p.backoff.slow()
			}
		default:
			// Whether the push was stored can't be known. A new connection,
			// whose first push is unconditional, is right either way.
			return s.p.failed(ctx, err)
		}
	}
}

// wait returns the newest snapshot once there is one that hasn't been dealt
// with, or nil when the connection or ctx ends first.
func (s *session) wait(ctx context.Context) *snapshot.Snapshot {
	for {
		select {
		case <-s.conn.Closed():
			return nil
		default:
		}
		if next := s.p.latest(); next != nil && next.Version > s.done {
			return next
		}
		select {
		case <-s.p.wake:
		case <-s.conn.Closed():
		case <-ctx.Done():
			return nil
		}
	}
}

// hold keeps quiet for d, or for as long as the connection lasts when d is 0,
// and reports whether the connection still stands.
func (s *session) hold(ctx context.Context, d time.Duration) bool {
	var elapsed <-chan time.Time
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		elapsed = timer.C
	}
	select {
	case <-elapsed:
		return true
	case <-s.conn.Closed():
		return false
	case <-ctx.Done():
		return false
	}
}

// push sends next in the best protocol that the peer knows.
func (s *session) push(ctx context.Context, next *snapshot.Snapshot) error {
	err := s.pushAs(ctx, next)
	if s.protocol == wire.ProtocolCoder || !wire.IsUnimplemented(err) {
		return err
	}
	s.protocol, s.initial = wire.ProtocolCoder, true
	return s.pushAs(ctx, next)
}

// pushAs sends next in the session's protocol, unless the peer already has
// the equal.
func (s *session) pushAs(ctx context.Context, next *snapshot.Snapshot) error {
	content, report, err := prepare(next, s.protocol)
	if err != nil {
		return err
	}
	s.p.prepared(report)
	digest := sha256.Sum256(content)
	if !s.initial && digest == s.last {
		s.done = next.Version
		s.p.settle(next.Version, s.protocol, nil)
		return nil
	}
	accepted, err := s.send(ctx, next.Version, content)
	if err != nil {
		return err
	}
	if !accepted {
		return errConflict
	}
	s.done, s.initial, s.last = next.Version, false, digest
	s.p.backoff.reset()
	s.p.settle(next.Version, s.protocol, &AcceptedPush{
		Version: next.Version, Hash: next.AggregateHash, At: time.Now(),
	})
	return nil
}

// send makes the call. Version and initial go in front of the content, which
// is encoded without them: in protobuf, that is one message.
func (s *session) send(ctx context.Context, version uint64, content []byte) (accepted bool, err error) {
	if s.protocol == wire.ProtocolWaymark {
		var response waymark.PushResponse
		head := &waymark.PushRequest{Version: version, Initial: s.initial}
		err = s.call(ctx, wire.MethodPush, head, content, &response)
		return response.GetAccepted(), err
	}
	var response coder.PushContextStateResponse
	head := &coder.PushContextStateRequest{Version: version, Initial: s.initial}
	err = s.call(ctx, wire.MethodPushContextState, head, content, &response)
	return response.GetAccepted(), err
}

func (s *session) call(ctx context.Context, method string, head proto.Message, content []byte, out proto.Message) error {
	request, err := proto.Marshal(head)
	if err != nil {
		return err
	}
	return s.p.call(ctx, s.conn, method, append(request, content...), out)
}
