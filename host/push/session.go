package push

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"
	"storj.io/drpc"

	"waymark/snapshot"
	"waymark/wire"
	"waymark/wire/coder"
	"waymark/wire/waymark"
)

// errConflict says that the peer didn't accept a push although its version
// was above everything this connection has sent.
var errConflict = errors.New("another agent writes this agent's context; stop one of the two, or give each a token of its own")

// errSuperseded says that the hub hears another agent in place of this one.
var errSuperseded = errors.New("another agent with the same token has taken over, and this one isn't heard as long as that one is connected; stop one of the two, or give each a token of its own (hub token create --role agent --agent ID)")

// supersededPause is how long an agent whose push was refused for a newer one
// waits before it connects again: longer than hubs over one database take to
// tell each other who is connected, so that this one's knows, too.
const supersededPause = 5 * time.Second

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
	// takes is what the peer has said, when it was opened, that it takes.
	takes takes

	// reversing says that a goroutine keeps the reverse channel open; endReverse
	// ends it, and reverse has it.
	reversing  bool
	endReverse context.CancelFunc
	reverse    sync.WaitGroup
}

func newSession(p *Pusher, conn drpc.Conn) *session {
	return &session{p: p, conn: conn, protocol: wire.ProtocolWaymark}
}

// serve pushes what is new until the connection ends, and returns how long to
// wait before the next one.
func (s *session) serve(ctx context.Context) time.Duration {
	defer s.closeReverse()
	for {
		next := s.wait(ctx)
		if next == nil {
			return s.p.failed(ctx, errLost)
		}
		err := s.push(ctx, next)
		switch {
		case err == nil:
			s.openReverse(ctx)
			continue
		case ctx.Err() != nil:
			return 0
		case wire.IsUnimplemented(err):
			s.p.setState(StateUnimplemented, err)
			s.hold(ctx, 0)
			return s.p.backoff.Next()
		case wire.IsBusy(err):
			// Nothing was stored, and a new connection would cost the peer
			// even more.
			s.p.setState(StateBackingOff, err)
			if pause := s.p.backoff.Next(); !s.hold(ctx, pause) {
				return pause
			}
			continue
		}
		switch state := stateOf(err); {
		case errors.Is(err, errSuperseded):
			// The hub ends the connection when the other one is gone.
			s.p.setState(state, err)
			if !s.hold(ctx, s.p.backoff.Max()) {
				return s.p.backoff.Next()
			}
		case wire.IsSuperseded(err):
			// No push of this connection will ever be accepted. The next one
			// asks before it pushes.
			s.p.yields = true
			s.p.setState(state, errSuperseded)
			return supersededPause
		case state == StateConflict:
			s.done = next.Version // a fight would begin with sending it again
			fallthrough
		case state == StateUnauthorized:
			s.p.setState(state, err)
			if !s.hold(ctx, s.p.backoff.Max()) {
				// The peer may have closed because of this very error.
				return s.p.backoff.Max()
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
	s.protocol, s.last, s.deltas, s.takes = wire.ProtocolCoder, nil, false, takes{}
	return s.pushAs(ctx, next)
}

// pushAs sends next in the session's protocol, unless the peer already has
// the equal.
func (s *session) pushAs(ctx context.Context, next *snapshot.Snapshot) error {
	content, err := prepare(next, s.protocol, s.takes, s.p.opts.Hold, s.last)
	if err != nil {
		return err
	}
	s.p.setPrepared(content.report)
	if s.last != nil && content.equal(s.last) {
		s.done = next.Version
		s.p.settle(next.Version, s.protocol, nil)
		return nil
	}
	got, err := s.send(ctx, next.Version, content)
	if err != nil {
		return err
	}
	if !got.accepted {
		return errConflict
	}
	s.done, s.last, s.lastVersion, s.deltas = next.Version, content, next.Version, got.deltas
	s.p.yields = true
	s.p.backoff.Reset()
	s.p.settle(next.Version, s.protocol, &AcceptedPush{
		Version: next.Version, Hash: content.head.AggregateHash, At: time.Now(),
	})
	return nil
}

// answer is what a peer says to a push that it doesn't refuse.
type answer struct {
	accepted   bool
	fullNeeded bool // the delta had no base there, or the claim was another name
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
// whole, by hash where the peer takes that.
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
			got, err := s.sendOnce(ctx, delta, Attempt{Delta: true})
			if err != nil || !got.fullNeeded {
				return got, err
			}
		}
	}
	if s.last == nil && s.takes.claims && s.p.yields { // it may have what was pushed before
		got, err := s.claim(ctx, head, content)
		if err != nil || !got.fullNeeded {
			return got, err
		}
	}
	if content.takes.byHash {
		return s.sendByHash(ctx, version, content)
	}
	full, err := content.full(head)
	if err != nil {
		return answer{}, err
	}
	return s.sendOnce(ctx, full, Attempt{})
}

// claim says that the hub has the content.
func (s *session) claim(ctx context.Context, head []byte, content *prepared) (answer, error) {
	request, err := content.claim(head)
	if err != nil {
		return answer{}, err
	}
	return s.sendOnce(ctx, request, Attempt{Claim: true})
}

// open asks the peer whether it is a hub, and has it give this connection its
// place in the order of the agent's connections. It does so until the answer
// isn't errSuperseded.
func (s *session) open(ctx context.Context) error {
	if s.opened {
		return nil
	}
	begin := time.Now()
	var who Description
	if describe := s.p.opts.Describe; describe != nil {
		who = describe()
	}
	request, err := proto.Marshal(&waymark.OpenRequest{
		RunId: s.p.run, Yields: s.p.yields, // protobuf takes UTF-8 alone
		Hostname: strings.ToValidUTF8(who.Hostname, "?"), Root: strings.ToValidUTF8(who.Root, "?"), AgentVersion: strings.ToValidUTF8(who.Version, "?"),
	})
	if err != nil {
		return err
	}
	var response waymark.OpenResponse
	err = s.p.call(ctx, s.conn, wire.MethodOpen, request, &response)
	if err == nil && response.GetSuperseded() {
		err = errSuperseded
	}
	switch {
	case wire.IsUnimplemented(err):
		s.protocol = wire.ProtocolCoder
	case err != nil:
		s.p.observe(Attempt{Result: resultOf(ctx, err), Protocol: s.protocol, Duration: time.Since(begin)})
		return err
	}
	s.opened, s.takes = true, takesOf(response.GetTakes())
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

// observed has push observed, which sets an attempt's result where it doesn't fail,
// and what is known of its content.
func (s *session) observed(ctx context.Context, push func() (Attempt, error)) {
	begin := time.Now()
	attempt, err := push()
	attempt.Protocol, attempt.Duration = s.protocol, time.Since(begin)
	if err != nil {
		attempt.Result = resultOf(ctx, err)
	}
	s.p.observe(attempt)
}

// sendOnce makes one call and has it observed, as an attempt of that kind.
func (s *session) sendOnce(ctx context.Context, request []byte, kind Attempt) (got answer, err error) {
	s.observed(ctx, func() (Attempt, error) {
		got, err = s.pushOnce(ctx, request, kind.Delta || kind.Claim)
		kind.Result, kind.Bytes = got.result(), len(request)
		return kind, err
	})
	return got, err
}

// pushOnce makes one call. partial says that the hub may not have what the request
// builds on.
func (s *session) pushOnce(ctx context.Context, request []byte, partial bool) (got answer, err error) {
	if len(request) > wire.MaxMessage { // the peer would drop the call without a word
		return answer{}, fmt.Errorf("the push has %d bytes, a message at most %d", len(request), wire.MaxMessage)
	}
	if s.protocol == wire.ProtocolWaymark {
		var out waymark.PushResponse
		err = s.p.call(ctx, s.conn, wire.MethodPush, request, &out)
		return answer{accepted: out.GetAccepted(), fullNeeded: out.GetFullNeeded() && partial, deltas: out.GetDeltas()}, err
	}
	var out coder.PushContextStateResponse
	err = s.p.call(ctx, s.conn, wire.MethodPushContextState, request, &out)
	return answer{accepted: out.GetAccepted()}, err
}

// Result says how a push attempt ended, in a word that can be the label of a
// metric.
type Result string

// The results.
const (
	ResultAccepted      Result = "accepted"
	ResultNotAccepted   Result = "not_accepted"  // another writer has a newer version
	ResultFullNeeded    Result = "full_needed"   // a delta whose base the peer hasn't, or a claim of what it hasn't
	ResultUnimplemented Result = "unimplemented" // the peer doesn't know the method
	ResultUnauthorized  Result = "unauthorized"
	ResultSuperseded    Result = "superseded" // a newer session of this agent has taken over
	ResultBusy          Result = "busy"       // the peer wants to be asked later
	ResultTimeout       Result = "timeout"    // no answer in time
	ResultLost          Result = "lost"       // connection or call ended without an answer
	ResultRefused       Result = "refused"    // every other error
	ResultCanceled      Result = "canceled"   // Close, or the end of Run's context
)

// Attempt is one call that brought a snapshot, or should have, or all the calls of
// a push by hash: also one that failed before that, when the peer was asked what it
// knows.
type Attempt struct {
	Result   Result
	Protocol wire.Protocol
	// Delta says that only what has changed was sent, Claim that nothing was but the
	// name of what was pushed before.
	Delta, Claim bool
	// Bytes is the length of the encoded message, or of all of them; 0 if nothing was
	// sent. Bodies is how many payloads the peer asked for.
	Bytes    int
	Bodies   int
	Duration time.Duration
}

// observe hands an attempt to the observer, if there is one.
func (p *Pusher) observe(a Attempt) {
	if p.opts.Observe != nil {
		p.opts.Observe(a)
	}
}

// resultOf says how a call ended that failed.
func resultOf(ctx context.Context, err error) Result {
	switch {
	case ctx.Err() != nil:
		return ResultCanceled
	case wire.IsUnimplemented(err):
		return ResultUnimplemented
	case wire.IsUnauthorized(err):
		return ResultUnauthorized
	case wire.IsSuperseded(err), errors.Is(err, errSuperseded):
		return ResultSuperseded
	case wire.IsBusy(err):
		return ResultBusy
	case isTimeout(err):
		return ResultTimeout
	case isLost(err):
		return ResultLost
	default:
		return ResultRefused
	}
}
