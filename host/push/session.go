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

// errConflict says that the peer didn't accept a push although its version was above
// everything that this connection has sent.
var errConflict = errors.New("another agent writes this agent's context; stop one of the two, or give each a token of its own")

// errSuperseded says that the hub accepts another agent in place of this one.
var errSuperseded = errors.New("another agent with the same token has taken over, and this one isn't heard as long as that one is connected; stop one of the two, or give each a token of its own (hub token create --role agent --agent ID)")

// supersededPause is how long an agent whose push lost to a newer agent's waits before it
// reconnects. It is longer than hubs over one database need to tell each other who is
// connected, so that this agent's hub knows, too.
const supersededPause = 5 * time.Second

// session is the life of one connection. It belongs to Run's goroutine.
type session struct {
	p        *Pusher
	conn     drpc.Conn
	protocol wire.Protocol
	// opened says that the peer was asked whether it knows waymark.v1.
	opened bool
	// done is the newest version that needs no more attention here: accepted, equal to the
	// previous one, or permanently refused.
	done uint64
	// last is what the peer has accepted last, in the case of a hub on any connection; nil if
	// nothing.
	last *prepared
	// pushed says that something was accepted on this connection.
	pushed bool

	// reversing says that a goroutine keeps the reverse channel open; endReverse ends it, and
	// reverse waits for it.
	reversing  bool
	endReverse context.CancelFunc
	reverse    sync.WaitGroup
}

func newSession(p *Pusher, conn drpc.Conn) *session {
	return &session{p: p, conn: conn, protocol: wire.ProtocolWaymark, last: p.had}
}

// serve pushes what is new until the connection ends, and returns how long to wait before the
// next one.
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
			// Nothing was stored, and a new connection would cost the peer even more.
			s.p.setState(StateBackingOff, err)
			if pause := s.p.backoff.Next(); !s.hold(ctx, pause) {
				return pause
			}
			continue
		}
		switch state := stateOf(err); {
		case errors.Is(err, errSuperseded):
			// The hub ends the connection when the other agent is gone.
			s.p.setState(state, err)
			if !s.hold(ctx, s.p.backoff.Max()) {
				return s.p.backoff.Next()
			}
		case wire.IsSuperseded(err):
			// No push of this connection will ever be accepted. The next connection asks
			// before it pushes.
			s.p.yields = true
			s.p.setState(state, errSuperseded)
			return supersededPause
		case state == StateConflict:
			s.done = next.Version // sending it again would start a fight
			fallthrough
		case state == StateUnauthorized:
			s.p.setState(state, err)
			if !s.hold(ctx, s.p.backoff.Max()) {
				// The peer may have closed because of this very error.
				return s.p.backoff.Max()
			}
		default:
			// It is unknown whether the push was stored. A new connection, whose first push
			// is unconditional, is right either way.
			return s.p.failed(ctx, err)
		}
	}
}

// wait returns the newest snapshot once there is one that hasn't been handled, or nil if the
// connection or ctx ends first.
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

// hold waits for d, or for the end of the connection if d is 0, and reports whether the
// connection is still up.
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
	s.coder()
	return s.pushAs(ctx, next)
}

// coder switches to the protocol for a peer that isn't a hub.
func (s *session) coder() { s.protocol, s.last, s.pushed = wire.ProtocolCoder, nil, false }

// pushAs sends next in the session's protocol, unless the peer already has equal content.
func (s *session) pushAs(ctx context.Context, next *snapshot.Snapshot) error {
	content, err := prepare(next, s.protocol, s.p.opts.Hold, s.last)
	if err != nil {
		return err
	}
	s.p.setPrepared(content.report)
	if s.pushed && content.equal(s.last) {
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
	s.done, s.last, s.pushed = next.Version, content, true
	if s.protocol == wire.ProtocolWaymark {
		s.p.had = content
	}
	s.p.yields = true
	s.p.backoff.Reset()
	s.p.settle(next.Version, s.protocol, &AcceptedPush{
		Version: next.Version, Hash: content.head.AggregateHash, At: time.Now(),
	})
	return nil
}

// send pushes content, and reports whether it was accepted.
func (s *session) send(ctx context.Context, version uint64, content *prepared) (accepted bool, err error) {
	if s.protocol == wire.ProtocolCoder {
		request, err := content.whole(version, !s.pushed)
		if err != nil {
			return false, err
		}
		s.observed(ctx, func(a *Attempt) error {
			var out coder.PushContextStateResponse
			if err = s.call(ctx, wire.MethodPushContextState, request, &out, a); err == nil {
				accepted = out.GetAccepted()
				a.Result = resultIf(accepted)
			}
			return err
		})
		return accepted, err
	}
	c := change{s: s, version: version, content: content, base: s.last}
	again := c.send(ctx)
	if again { // the hub doesn't have the base
		c.base = nil
		again = c.send(ctx)
	}
	if again && c.err == nil {
		c.err = errNonsense
	}
	return c.accepted, c.err
}

func resultIf(accepted bool) Result {
	if accepted {
		return ResultAccepted
	}
	return ResultNotAccepted
}

// errNonsense says that the answers of a hub don't follow the protocol.
var errNonsense = errors.New("the hub's answer makes no sense")

// maxRounds bounds how often a hub may request payloads for one push. It requests some again
// only if it has dropped them meanwhile.
const maxRounds = 3

// change is a push to a hub.
type change struct {
	s             *session
	version       uint64
	content, base *prepared

	accepted bool
	err      error
}

// send sends the change with the payloads that the hub requests, and reports whether the hub
// lacks the base.
func (c *change) send(ctx context.Context) (baseUnknown bool) {
	c.s.observed(ctx, func(a *Attempt) error {
		a.Delta = c.base != nil
		for round := range maxRounds {
			var request []byte
			if request, c.err = c.content.change(c.version, c.base, round == 0); c.err != nil {
				return c.err
			}
			var out waymark.PushResponse
			if c.err = c.s.call(ctx, wire.MethodPush, request, &out, a); c.err != nil {
				return c.err
			}
			wanted := out.GetWanted()
			switch {
			case out.GetBaseUnknown():
				baseUnknown, a.Result = true, ResultFullNeeded
				return nil
			case len(wanted) == 0:
				c.accepted = out.GetAccepted()
				a.Result = resultIf(c.accepted)
				return nil
			}
			if c.err = c.upload(ctx, wanted, a); c.err != nil {
				return c.err
			}
		}
		c.err = errNonsense
		return c.err
	})
	return baseUnknown
}

// upload sends payloads that the hub requests.
func (c *change) upload(ctx context.Context, wanted [][]byte, a *Attempt) error {
	named := make(map[string]*row)
	for _, w := range c.content.rows {
		if body, _ := w.named(); body != nil {
			named[string(body.SHA256[:])] = w
		}
	}
	a.Bodies += len(wanted)
	for len(wanted) > 0 {
		some := payloads{room: wire.MaxUpload}
		for len(wanted) > 0 {
			w := named[string(wanted[0])]
			if w == nil {
				return errNonsense
			}
			if !some.add(w) {
				break
			}
			wanted = wanted[1:]
		}
		request, err := marshal(&waymark.UploadRequest{Payloads: some.list})
		if err != nil {
			return err
		}
		if err := c.s.call(ctx, wire.MethodUpload, request, &waymark.UploadResponse{}, a); err != nil {
			return err
		}
	}
	return nil
}

// open asks the peer whether it is a hub, and registers this connection in the order of the
// agent's connections. It repeats that while the answer is errSuperseded.
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
		RunId: s.p.run, Yields: s.p.yields, // protobuf accepts only UTF-8
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
		s.coder()
	case err != nil:
		s.p.observe(Attempt{Result: resultOf(ctx, err), Protocol: s.protocol, Duration: time.Since(begin)})
		return err
	}
	s.opened = true
	return nil
}

// observed runs push and reports the attempt to the observer, even if it fails.
func (s *session) observed(ctx context.Context, push func(*Attempt) error) {
	begin := time.Now()
	attempt := Attempt{Protocol: s.protocol}
	err := push(&attempt)
	attempt.Duration = time.Since(begin)
	if err != nil {
		attempt.Result = resultOf(ctx, err)
	}
	s.p.observe(attempt)
}

// call makes one call of an attempt.
func (s *session) call(ctx context.Context, method string, request []byte, response proto.Message, a *Attempt) error {
	if len(request) > wire.MaxMessage { // the peer would drop the call silently
		return fmt.Errorf("the push has %d bytes, a message at most %d", len(request), wire.MaxMessage)
	}
	a.Bytes += len(request)
	return s.p.call(ctx, s.conn, method, request, response)
}

// Result says how a push attempt ended, in a word that can be the label of a metric.
type Result string

// The results.
const (
	ResultAccepted      Result = "accepted"
	ResultNotAccepted   Result = "not_accepted"  // another writer has a newer version
	ResultFullNeeded    Result = "full_needed"   // the peer lacks the base
	ResultUnimplemented Result = "unimplemented" // the peer doesn't know the method
	ResultUnauthorized  Result = "unauthorized"
	ResultSuperseded    Result = "superseded" // a newer session of this agent has taken over
	ResultBusy          Result = "busy"       // the peer wants to be asked later
	ResultTimeout       Result = "timeout"    // no answer in time
	ResultLost          Result = "lost"       // connection or call ended without an answer
	ResultRefused       Result = "refused"    // every other error
	ResultCanceled      Result = "canceled"   // Close, or the end of Run's context
)

// Attempt describes the calls that pushed a snapshot or tried to, including an attempt that
// failed earlier, when the peer was asked for its protocol.
type Attempt struct {
	Result   Result
	Protocol wire.Protocol
	// Delta says that only changes were sent.
	Delta bool
	// Bytes is the length of all encoded messages; 0 if nothing was sent. Bodies is the
	// number of payloads that the peer requested.
	Bytes    int
	Bodies   int
	Duration time.Duration
}

// observe passes an attempt to the observer, if there is one.
func (p *Pusher) observe(a Attempt) {
	if p.opts.Observe != nil {
		p.opts.Observe(a)
	}
}

// resultOf says how a failed call ended.
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
