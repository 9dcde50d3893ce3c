package push

import (
	"context"
	"maps"
	"time"

	"golang.org/x/sync/semaphore"
	"google.golang.org/protobuf/proto"
	"storj.io/drpc"
	"storj.io/drpc/drpcmetadata"

	"waymark/internal/backoff"
	"waymark/wire"
	"waymark/wire/reverse"
	"waymark/wire/waymark"
)

// Reverse is what the peer may ask of this agent, over a channel that the Pusher
// opens once a push was accepted, and again whenever it is lost: beside the pushes,
// which it never holds up. A peer without such a channel is left alone until the next
// connection. The zero value serves nothing, and then no channel is opened.
type Reverse struct {
	// SetApprovals takes the signed approvals that the peer has for this agent, in
	// place of all before. Who signed them, and whether that one may, is for it to
	// find out. Calls come one after another.
	SetApprovals func(ctx context.Context, signed [][]byte) error
	// Handlers serve further kinds of requests, whose bodies are no business of this
	// package.
	Handlers map[string]reverse.Handler
	// Observe is called after each request of the peer, for an audit log, from a
	// goroutine of its own. Nil means that nothing is.
	Observe func(reverse.Served)
}

// handlers are the requests that are served; nil for none.
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

// ReverseState is how the reverse channel is.
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

// ReverseStatus is how the reverse channel is doing.
type ReverseStatus struct {
	// State says whether it is there: off where nothing would be served, unimplemented where
	// the peer has none.
	State ReverseState `json:"state"`
	// LastError is why it was closed last; empty while it is open.
	LastError string `json:"last_error"`
}

// openReverse begins to keep a reverse channel open for as long as the session lasts,
// unless it has begun. It is called when a push was accepted.
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

// keepReverse opens the channel again and again, until the peer hasn't one, or ctx
// ends. It has a goroutine of its own and uses nothing of the session that changes.
func (s *session) keepReverse(ctx context.Context) {
	pauses := backoff.Backoff{Shortest: s.p.opts.MinBackoff, Longest: s.p.opts.MaxBackoff, Jitter: true}
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
			_ = backoff.Sleep(ctx, pauses.Max()) // the loop looks at ctx
			continue
		}
		s.p.setReverse(ReverseClosed, err)
		_ = backoff.Sleep(ctx, pauses.Next())
	}
}

// serveReverse opens the channel and serves it until it ends.
func (s *session) serveReverse(ctx context.Context, pauses *backoff.Backoff) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	conn := s.conn
	if _, ok := conn.(*muxConn); !ok { // its calls come one after another
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
		End: func(error) { cancel() }, // which DRPC needs nobody's help for
		Ready: func(reverse.Hello) {
			pauses.Worked()
			s.p.setReverse(ReverseOpen, nil)
		},
		Hello: s.p.opts.CallTimeout, Write: s.p.opts.CallTimeout,
	})
	return channel.Run()
}

// openStream opens the channel's stream, for which a peer that doesn't read has a
// while.
func openStream(ctx context.Context, cancel context.CancelFunc, conn drpc.Conn, within time.Duration) (drpc.Stream, error) {
	late := time.AfterFunc(within, cancel)
	defer late.Stop()
	stream, err := conn.NewStream(ctx, wire.MethodReverse, encoding{})
	if err != nil && ctx.Err() != nil {
		return nil, &timeoutError{within}
	}
	return stream, err
}

// setReverse notes how the reverse channel is, and logs what is new.
func (p *Pusher) setReverse(state ReverseState, err error) {
	next := ReverseStatus{State: state, LastError: p.describe(err)}
	before := p.Status().Reverse
	if before == next {
		return
	}
	p.logReverse(before.State, next)
	p.update(func(s *Status) { s.Reverse = next })
}
