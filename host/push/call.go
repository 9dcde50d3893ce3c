package push

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/hashicorp/yamux"
	"google.golang.org/protobuf/proto"
	"storj.io/drpc"
	"storj.io/drpc/drpcmetadata"

	"waymark/internal/errtext"
	"waymark/internal/text"
	"waymark/wire"
)

// Ways in which a call ends without an answer.
var (
	// errLost says that the connection ended without an error of its own.
	errLost = errors.New("the connection was lost")
	// errDropped says that the call ended but the connection didn't, as with a message that
	// is too large for the peer.
	errDropped = errors.New("the peer has dropped the call without an answer, as it does with what is too large for it")
	// errTimeout matches the error of a call without a timely answer.
	errTimeout = errors.New("no answer in time")
)

// maxErrorText bounds how much of a peer's error is shown, in bytes.
const maxErrorText = 512

// dial connects within DialTimeout.
func (p *Pusher) dial(ctx context.Context) (drpc.Conn, error) {
	dialCtx, cancel := context.WithTimeout(ctx, p.opts.DialTimeout)
	defer cancel()
	conn, err := p.opts.Dialer.Dial(dialCtx)
	if err != nil && dialCtx.Err() != nil && ctx.Err() == nil {
		return nil, fmt.Errorf("no connection within %s: %w", p.opts.DialTimeout, err)
	}
	return conn, err
}

// call makes one unary call with a deadline. It doesn't use Invoke: if a peer answers before
// it has read the whole request, as for an unknown method, Invoke returns EOF and loses the
// answer. Here the answer is read.
func (p *Pusher) call(ctx context.Context, conn drpc.Conn, method string, request []byte, response proto.Message) error {
	callCtx, cancel := context.WithTimeout(ctx, p.opts.CallTimeout)
	defer cancel()
	if p.opts.Token != "" {
		callCtx = drpcmetadata.Add(callCtx, wire.TokenMetadata, p.opts.Token)
	}
	err := exchange(callCtx, conn, method, request, response)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case callCtx.Err() != nil:
		return &timeoutError{p.opts.CallTimeout}
	case brokenConnection(err):
		return errLost
	case !endedWithoutAnswer(err):
		return err
	}
	// When a call ends with the connection, it may take a moment until the connection shows
	// it.
	timer := time.NewTimer(closedWithin)
	defer timer.Stop()
	select {
	case <-conn.Closed():
		return errLost
	case <-timer.C:
		return errDropped
	case <-ctx.Done():
		return ctx.Err()
	}
}

// closedWithin is long enough for another goroutine to run, and short compared with the pause
// before the next connection.
const closedWithin = 100 * time.Millisecond

// brokenConnection reports whether err is the system's error for a connection that ended
// during a write: a broken pipe, a reset.
func brokenConnection(err error) bool {
	var broken *net.OpError
	return errors.As(err, &broken)
}

// timeoutError matches errTimeout.
type timeoutError struct{ after time.Duration }

func (e *timeoutError) Error() string        { return fmt.Sprintf("no answer within %s", e.after) }
func (e *timeoutError) Is(target error) bool { return target == errTimeout }

func isTimeout(err error) bool { return errors.Is(err, errTimeout) }

func isLost(err error) bool { return errors.Is(err, errLost) || errors.Is(err, errDropped) }

// endedWithoutAnswer reports whether err is an error of DRPC or yamux for a call whose stream
// has ended. One of them is context.Canceled, although nobody canceled.
func endedWithoutAnswer(err error) bool {
	for _, end := range []error{
		context.Canceled, io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe, net.ErrClosed,
		yamux.ErrStreamClosed, yamux.ErrConnectionReset, yamux.ErrSessionShutdown,
	} {
		if errors.Is(err, end) {
			return true
		}
	}
	return false
}

func exchange(ctx context.Context, conn drpc.Conn, method string, request []byte, response proto.Message) error {
	stream, err := conn.NewStream(ctx, method, encoding{})
	if err != nil {
		return err
	}
	// An error from closing comes after the answer and changes nothing.
	defer func() { _ = stream.Close() }()
	err = stream.MsgSend(request, encoding{})
	if err != nil && !errors.Is(err, io.EOF) { // EOF: the answer is already there
		return err
	}
	if err := stream.CloseSend(); err != nil {
		return err
	}
	return stream.MsgRecv(response, encoding{})
}

// encoding sends encoded bytes, and receives messages.
type encoding struct{}

var _ drpc.Encoding = encoding{}

// Marshal implements drpc.Encoding for []byte.
func (encoding) Marshal(message drpc.Message) ([]byte, error) {
	data, ok := message.([]byte)
	if !ok {
		return nil, fmt.Errorf("can't send a %T", message)
	}
	return data, nil
}

// Unmarshal implements drpc.Encoding for proto.Message.
func (encoding) Unmarshal(data []byte, message drpc.Message) error {
	m, ok := message.(proto.Message)
	if !ok {
		return fmt.Errorf("can't receive a %T", message)
	}
	return proto.Unmarshal(data, m)
}

// stateOf returns the state to which an error of dialing or of a call leads.
func stateOf(err error) State {
	switch {
	case errors.Is(err, ErrUnauthorized), wire.IsUnauthorized(err):
		return StateUnauthorized
	case errors.Is(err, ErrVersionRefused):
		return StateVersionRefused
	case errors.Is(err, errConflict), errors.Is(err, errSuperseded), wire.IsSuperseded(err):
		return StateConflict
	default:
		return StateBackingOff
	}
}

// describe makes an error fit for a log and a terminal, because it may contain a peer's text.
func (p *Pusher) describe(err error) string {
	if err == nil {
		return ""
	}
	s := errtext.Of(err)
	if p.opts.Token != "" {
		s = strings.ReplaceAll(s, p.opts.Token, "[token]")
	}
	return text.Line(s, maxErrorText)
}
