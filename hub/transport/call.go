package transport

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"storj.io/drpc"
	"storj.io/drpc/drpcerr"

	"waymark/wire"
)

// calls serves the calls of a DRPC transport. A call is admitted before its message is
// decoded, and an intake limits what its peer can make this process hold.
type calls struct {
	t      *Transport
	conn   *conn
	intake *intake
	// authenticate returns the agent of a call.
	authenticate func(ctx context.Context) (Peer, error)
	// takeSlot takes a slot for the connection, once; nil if it has one.
	takeSlot func() error
	// idle is how long the peer may be silent after an admitted call; 0 means forever.
	idle time.Duration
	// plain says that this transport has all calls of the connection.
	plain bool
}

// answerGrace is how long a peer has to read its answer before the connection ends: DRPC
// may lose what arrives just before the end.
const answerGrace = 100 * time.Millisecond

// HandleRPC implements drpc.Handler.
func (c *calls) HandleRPC(stream drpc.Stream, method string) (err error) {
	defer func() {
		// A panic would end the process, and with it all other agents.
		if p := recover(); p != nil {
			c.t.log.Error("call panicked", slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
			err = ErrInternal
		}
	}()
	var refuse func(error) error
	if s, ok := stream.(interface{ SendError(error) error }); ok {
		refuse = s.SendError
	}
	c.intake.begin(refuse)
	defer c.intake.end()
	if c.plain {
		c.conn.enter()
		defer c.conn.leave(answerGrace)
	}
	call := &Call{Session: c.conn.session}
	ctx := c.t.services.BeginCall(stream.Context(), method)
	defer func() { c.t.services.EndCall(ctx, call, err) }()

	owner, err := c.admit(stream.Context())
	if err != nil {
		// Read the message: a peer that is still sending would see EOF instead of the
		// answer.
		c.intake.admit(c.t.unauthenticated, c.t.limits.Handshake)
		c.discard(stream)
		return err
	}
	call.AgentID = owner.agentID
	c.intake.admit(owner, c.idle)
	s := &callStream{inner: stream, calls: c, call: call, ctx: context.WithValue(ctx, callKey{}, call)}
	call.stream = s
	defer s.release()
	err = c.conn.session.HandleRPC(s, method)
	if call.lasts { // it wasn't counted until now
		c.conn.enter()
	}
	if err != nil && !s.received { // unknown method
		c.discard(stream)
	}
	return err
}

// discard reads the message without decoding it.
func (c *calls) discard(stream drpc.Stream) {
	_ = stream.MsgRecv(nil, noEncoding{}) // any error is irrelevant
	c.intake.complete()
}

// admit returns the agent of a call if it may call now.
func (c *calls) admit(ctx context.Context) (*client, error) {
	if c.t.Draining() {
		return nil, errStopping
	}
	peer, err := c.authenticate(ctx)
	if err != nil {
		// It doesn't count toward the limits of those with a token.
		if slow := throttle(ctx, c.t.unauthenticated.rate); slow != nil {
			return nil, slow
		}
		return nil, err
	}
	if c.takeSlot != nil {
		if err := c.takeSlot(); err != nil {
			return nil, err
		}
	}
	owner := c.t.conns.client(peer)
	if err := c.t.throttle(ctx, owner); err != nil {
		return nil, err
	}
	c.conn.attach(owner)
	return owner, nil
}

// callStream is the stream of an admitted call. It has the call in its context, and
// measures a message before decoding.
type callStream struct {
	inner drpc.Stream
	calls *calls
	call  *Call
	ctx   context.Context //nolint:containedctx // that is what a drpc.Stream is
	// received says that a message was read, expensive that it has a slot of those that are
	// expensive to decode.
	received, expensive bool
	// asks says that the call counts in the connection's place.
	asks bool
}

func (s *callStream) Context() context.Context                      { return s.ctx }
func (s *callStream) MsgSend(m drpc.Message, e drpc.Encoding) error { return s.inner.MsgSend(m, e) }
func (s *callStream) CloseSend() error                              { return s.inner.CloseSend() }
func (s *callStream) Close() error                                  { return s.inner.Close() }

// MsgRecv implements drpc.Stream.
func (s *callStream) MsgRecv(m drpc.Message, e drpc.Encoding) error {
	return s.inner.MsgRecv(m, &boundedEncoding{inner: e, stream: s})
}

// release releases the slots of the call.
func (s *callStream) release() {
	s.answered()
	if s.expensive {
		<-s.calls.t.expensive
	}
}

// answered says that the call doesn't ask the store any more.
func (s *callStream) answered() {
	if s.asks {
		s.asks = false
		s.calls.conn.place.answered()
	}
}

// boundedEncoding refuses to decode messages that are too large or have too many parts.
type boundedEncoding struct {
	inner  drpc.Encoding
	stream *callStream
}

func (b *boundedEncoding) Marshal(m drpc.Message) ([]byte, error) { return b.inner.Marshal(m) }

func (b *boundedEncoding) Unmarshal(data []byte, m drpc.Message) error {
	s := b.stream
	s.received = true
	s.calls.intake.complete()
	if !s.asks && !s.call.lasts {
		s.asks = true
		s.calls.conn.place.ask()
	}
	s.call.Bytes, s.call.Received = len(data), time.Now()
	if len(data) > wire.MaxMessage {
		return errTooLarge
	}
	message, ok := m.(proto.Message)
	if !ok {
		return errors.New("not a protobuf message")
	}
	s.call.Parts = parts(data, message.ProtoReflect().Descriptor(), wire.MaxParts)
	switch n := s.call.Parts; {
	case n > wire.MaxParts:
		err := fmt.Errorf("the message has more than %d parts", wire.MaxParts)
		return drpcerr.WithCode(err, wire.CodeTooLarge)
	case n > expensiveParts && !s.expensive:
		select {
		case s.calls.t.expensive <- struct{}{}:
			s.expensive = true
		case <-s.ctx.Done():
			return s.ctx.Err()
		}
	}
	return b.inner.Unmarshal(data, m)
}

// parts counts the messages within an encoded message, at least up to limit. Each may take
// two bytes when encoded, and a hundred and more when decoded, so their number predicts the
// cost of decoding. The decoder reports invalid messages.
func parts(data []byte, message protoreflect.MessageDescriptor, limit int) (n int) {
	fields := message.Fields()
	for len(data) > 0 && n <= limit {
		number, kind, size := protowire.ConsumeTag(data)
		if size < 0 {
			return n
		}
		data = data[size:]
		if size = protowire.ConsumeFieldValue(number, kind, data); size < 0 {
			return n
		}
		value := data[:size]
		data = data[size:]
		field := fields.ByNumber(number)
		if kind != protowire.BytesType || field == nil || field.Message() == nil {
			continue
		}
		inner, _ := protowire.ConsumeBytes(value)
		n += 1 + parts(inner, field.Message(), limit-n)
	}
	return n
}

// noEncoding decodes nothing.
type noEncoding struct{}

func (noEncoding) Marshal(drpc.Message) ([]byte, error) { return nil, nil }
func (noEncoding) Unmarshal([]byte, drpc.Message) error { return nil }
