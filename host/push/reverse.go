package push

import (
	"context"
	"maps"
	"time"

	"golang.org/x/sync/semaphore"
	"google.golang.org/protobuf/proto"
	"storj.io/drpc"
	"storj.io/drpc/drpcmetadata"

	"waymark/internal/await"
	"waymark/wire"
	"waymark/wire/reverse"
	"waymark/wire/waymark"
)

// Reverse is what the peer may request from this agent. Requests use a channel that the
// Pusher opens once a push was accepted, and reopens whenever it is lost. It never delays
// pushes. If a peer has no such channel, none is tried until the next connection. The zero
// value serves nothing, and then no channel is opened.
type Reverse struct {
	// SetApprovals replaces all signed approvals that the peer has for this agent. It checks
	// the signatures and the signers' authority itself. Calls don't overlap.
	SetApprovals func(ctx context.Context, signed [][]byte) error
	// Handlers serve further kinds of requests. This package doesn't interpret their bodies.
	Handlers map[string]reverse.Handler
	// Observe is called after each request of the peer, for an audit log, from a separate
	// goroutine. It may be nil.
	Observe func(reverse.Served)
}

// handlers returns the requests that are served; nil if there are none.
func (r *Reverse) handlers() map[string]reverse.Handler {
	if r.SetApprovals == nil && len(r.Handlers) == 0 {
		return nil
	}
	handlers := maps.Clone(r.Handlers)
	if handlers == nil {
		handlers = make(map[string]reverse.Handler)
	}
	if r.SetApprovals != nil {
		handlers[reverse.KindSetApprovals] = r.setApprovals()
	}
	return handlers
}

// setApprovals serves reverse.KindSetApprovals.
func (r *Reverse) setApprovals() reverse.Handler {
	turn := semaphore.NewWeighted(1)
	return func(ctx context.Context, body []byte) ([]byte, error) {
		var request waymark.SetApprovals
		if err := proto.Unmarshal(body, &request); err != nil {
			return nil, &reverse.Error{Code: reverse.CodeInvalid, Text: "the list of approvals can't be read"}
		}
		if err := turn.Acquire(ctx, 1); err != nil {
			return nil, err
		}
		defer turn.Release(1)
		return nil, r.SetApprovals(ctx, request.GetSigned())
	}
}

// ReverseState is the state of the reverse channel.
type ReverseState string

// The states of the reverse channel.
const (
	// ReverseOff: nothing would be served on it.
	ReverseOff ReverseState = "off"
	// ReverseClosed: it isn't open, or not yet; LastError may say why.
	ReverseClosed ReverseState = "closed"
	ReverseOpen   ReverseState = "open"
	// ReverseUnimplemented: the peer has none.
	ReverseUnimplemented ReverseState = "unimplemented"
)

// ReverseStatus is the status of the reverse channel.
type ReverseStatus struct {
	// State says whether it is there: off where nothing would be served, unimplemented where
	// the peer has none.
	State ReverseState `json:"state"`
	// LastError is why it was closed last; empty while it is open.
	LastError string `json:"last_error"`
}

// openReverse starts keeping a reverse channel open while the session lasts, unless that has
// begun. It is called when a push was accepted.
func (s *session) openReverse(ctx context.Context) {
	if s.reversing || s.p.handlers == nil || s.protocol != wire.ProtocolWaymark {
		return
	}
	s.reversing = true
	ctx, s.endReverse = context.WithCancel(ctx)
	s.reverse.Go(func() { s.keepReverse(ctx) })
}

// closeReverse ends the reverse channel and waits for it.
func (s *session) closeReverse() {
	if s.reversing {
		s.endReverse()
		s.reverse.Wait()
	}
}

// keepReverse opens the channel repeatedly, until the peer turns out to have none, or ctx
// ends. It runs in its own goroutine and uses only immutable fields of the session.
func (s *session) keepReverse(ctx context.Context) {
	pauses := await.Backoff{Shortest: s.p.opts.MinBackoff, Longest: s.p.opts.MaxBackoff, Jitter: true}
	for ctx.Err() == nil {
		err := s.serveReverse(ctx, &pauses)
		switch {
		case ctx.Err() != nil:
			s.p.setReverse(ReverseClosed, nil)
			return
		case wire.IsUnimplemented(err):
			s.p.setReverse(ReverseUnimplemented, nil)
			return
		case wire.IsBusy(err), wire.IsSuperseded(err), wire.IsUnauthorized(err):
			s.p.setReverse(ReverseClosed, err)
			_ = await.Sleep(ctx, pauses.Max()) // the loop checks ctx
			continue
		}
		s.p.setReverse(ReverseClosed, err)
		_ = await.Sleep(ctx, pauses.Next())
	}
}

// serveReverse opens the channel and serves it until it ends.
func (s *session) serveReverse(ctx context.Context, pauses *await.Backoff) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	conn := s.conn
	if _, ok := conn.(*muxConn); !ok { // its calls are sequential
		own, err := s.p.dial(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = own.Close() }()
		conn = own
	}
	if s.p.opts.Token != "" {
		ctx = drpcmetadata.Add(ctx, wire.TokenMetadata, s.p.opts.Token)
	}
	stream, err := openStream(ctx, cancel, conn, s.p.opts.CallTimeout)
	if err != nil {
		return err
	}
	defer func() { _ = stream.Close() }()
	channel := reverse.New(stream, reverse.Options{
		Agent: true, Run: s.p.run, Handlers: s.p.handlers, Observe: s.p.opts.Reverse.Observe,
		End: func(error) { cancel() }, // DRPC needs no help to end a stream
		Ready: func(reverse.Hello) {
			pauses.Worked()
			s.p.setReverse(ReverseOpen, nil)
		},
		Hello: s.p.opts.CallTimeout, Write: s.p.opts.CallTimeout,
	})
	return channel.Run()
}

// openStream opens the channel's stream. within bounds the wait for a peer that doesn't read.
func openStream(ctx context.Context, cancel context.CancelFunc, conn drpc.Conn, within time.Duration) (drpc.Stream, error) {
	late := time.AfterFunc(within, cancel)
	defer late.Stop()
	stream, err := conn.NewStream(ctx, wire.MethodReverse, encoding{})
	if err != nil && ctx.Err() != nil {
		return nil, &timeoutError{within}
	}
	return stream, err
}

// setReverse records the state of the reverse channel, and logs changes.
func (p *Pusher) setReverse(state ReverseState, err error) {
	next := ReverseStatus{State: state, LastError: p.describe(err)}
	before := p.Status().Reverse
	if before == next {
		return
	}
	p.logReverse(before.State, next)
	p.update(func(s *Status) { s.Reverse = next })
}
