package hub

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"
	"storj.io/drpc"
	"storj.io/drpc/drpcerr"

	"waymark/wire"
)

// callStream is the stream of an admitted call: it has the caller in its
// context, and looks at a message before that is decoded.
type callStream struct {
	inner drpc.Stream
	calls *calls
	note  *note
	ctx   context.Context //nolint:containedctx // that is what a drpc.Stream is
	// received says that a message was read, heavy that it takes one of the
	// few places for those.
	received, heavy bool
}

func (s *callStream) Context() context.Context                      { return s.ctx }
func (s *callStream) MsgSend(m drpc.Message, e drpc.Encoding) error { return s.inner.MsgSend(m, e) }
func (s *callStream) CloseSend() error                              { return s.inner.CloseSend() }
func (s *callStream) Close() error                                  { return s.inner.Close() }

// MsgRecv implements drpc.Stream.
func (s *callStream) MsgRecv(m drpc.Message, e drpc.Encoding) error {
	return s.inner.MsgRecv(m, &weighed{inner: e, call: s})
}

// close gives back what the call has taken.
func (s *callStream) close() {
	if s.heavy {
		<-s.calls.hub.heavy
	}
}

// weighed is an encoding that refuses what is too large, in any sense.
type weighed struct {
	inner drpc.Encoding
	call  *callStream
}

func (w *weighed) Marshal(m drpc.Message) ([]byte, error) { return w.inner.Marshal(m) }

func (w *weighed) Unmarshal(data []byte, m drpc.Message) error {
	c := w.call
	c.received = true
	c.calls.intake.complete()
	c.note.received(len(data))
	if len(data) > wire.MaxMessage {
		return errTooLarge
	}
	message, ok := m.(proto.Message)
	if !ok {
		return errors.New("not a protobuf message")
	}
	switch n := parts(data, message.ProtoReflect().Descriptor(), wire.MaxParts); {
	case n > wire.MaxParts:
		err := fmt.Errorf("the message has more than %d parts", wire.MaxParts)
		return drpcerr.WithCode(err, wire.CodeTooLarge)
	case n > heavyParts && !c.heavy:
		select {
		case c.calls.hub.heavy <- struct{}{}:
			c.heavy = true
		case <-c.ctx.Done():
			return c.ctx.Err()
		}
	}
	return w.inner.Unmarshal(data, m)
}

// discard is an encoding that reads nothing out of a message.
type discard struct{}

func (discard) Marshal(drpc.Message) ([]byte, error) { return nil, nil }
func (discard) Unmarshal([]byte, drpc.Message) error { return nil }
