package push

import (
	"context"
	"errors"
	"time"

	"storj.io/drpc"

	"waymark/snapshot"
	"waymark/wire"
)

// errConflict says that the peer didn't accept a push although its version
// was above everything this connection has sent.
var errConflict = errors.New("another agent writes this agent's context; stop one of the two, or give each a token of its own")

// session is the life of one connection. It belongs to Run's goroutine.
type session struct {
	p        *Pusher
	conn     drpc.Conn
	protocol wire.Protocol
	// opened says that the peer has been asked whether it knows waymark.v1.
	opened bool
	// done is the newest version that needs no more attention here: accepted,
	// equal to what was, or refused for good.
	done uint64
	// last is what was accepted last, as lastVersion; until there is one, a
	// push is initial.
	last        *prepared
	lastVersion uint64
	// deltas says that the peer takes what has changed since last.
	deltas bool
}

func newSession(p *Pusher, conn drpc.Conn) *session {
	return &session{p: p, conn: conn, protocol: wire.ProtocolWaymark}
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
		case wire.IsBusy(err):
			// Nothing was stored, and a new connection would cost the peer
			// even more.
			s.p.setState(StateBackingOff, err)
			if pause := s.p.backoff.next(); !s.hold(ctx, pause) {
				return pause
			}
			continue
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
	if err := s.open(ctx); err != nil {
		return err
	}
	err := s.pushAs(ctx, next)
	if s.protocol == wire.ProtocolCoder || !wire.IsUnimplemented(err) {
		return err
	}
	s.protocol, s.last, s.deltas = wire.ProtocolCoder, nil, false
	return s.pushAs(ctx, next)
}

// pushAs sends next in the session's protocol, unless the peer already has
// the equal.
func (s *session) pushAs(ctx context.Context, next *snapshot.Snapshot) error {
	content, err := prepare(next, s.protocol)
	if err != nil {
		return err
	}
	s.p.prepared(content.report)
	if s.last != nil && content.equal(s.last) {
		s.done = next.Version
		s.p.settle(next.Version, s.protocol, nil)
		return nil
	}
	answer, err := s.send(ctx, next.Version, content)
	if err != nil {
		return err
	}
	if !answer.accepted {
		return errConflict
	}
	s.done, s.last, s.lastVersion, s.deltas = next.Version, content, next.Version, answer.deltas
	s.p.backoff.reset()
	s.p.settle(next.Version, s.protocol, &AcceptedPush{
		Version: next.Version, Hash: next.AggregateHash, At: time.Now(),
	})
	return nil
}
