package reverse_test

import (
	"context"
	"errors"
	"testing"

	"storj.io/drpc"

	"waymark/wire/reverse"
)

// endedStream has ended for a reason that only its reader learns.
type endedStream struct {
	drpc.Stream

	ctx    context.Context
	reason error
}

func (s *endedStream) Context() context.Context                  { return s.ctx }
func (s *endedStream) MsgSend(drpc.Message, drpc.Encoding) error { return s.ctx.Err() }
func (s *endedStream) MsgRecv(drpc.Message, drpc.Encoding) error { return s.reason }

// TestReason: why a stream has ended is told, although its context ends with it.
func TestReason(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	reason := errors.New("there is no such method")
	c := reverse.New(&endedStream{ctx: ctx, reason: reason}, reverse.Options{Agent: true, End: func(error) {}})
	if err := c.Run(); !errors.Is(err, reason) {
		t.Errorf("it ended because of %v", err)
	}
}
