package hub

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"runtime/debug"
	"sync"
	"time"

	"storj.io/drpc"
	"storj.io/drpc/drpcmanager"
	"storj.io/drpc/drpcserver"
	"storj.io/drpc/drpcstream"
	"storj.io/drpc/drpcwire"

	"waymark/wire"
)

// acceptPause is how long to wait when a connection can't be accepted for
// want of something that comes back, such as file descriptors.
const acceptPause = 100 * time.Millisecond

// ServeDRPC serves the DRPC services to all connections of the listener. It
// returns nil when ctx or the hub ends, and the listener's error otherwise;
// the listener is closed then, and no connection is left.
func (h *Hub) ServeDRPC(ctx context.Context, listener net.Listener) error {
	ctx, end, err := h.begin(ctx)
	if err != nil {
		_ = listener.Close()
		return err
	}
	defer end()
	ctx, cancel := context.WithCancel(ctx)
	var conns sync.WaitGroup
	defer conns.Wait()
	defer cancel() // before the wait: deferred calls run backwards
	stop := context.AfterFunc(ctx, func() { _ = listener.Close() })
	defer stop()
	defer func() { _ = listener.Close() }()
	for {
		conn, err := listener.Accept()
		switch {
		case ctx.Err() != nil:
			if err == nil {
				_ = conn.Close()
			}
			return nil
		case isTemporary(err):
			h.log.Warn("connection not accepted", slog.Any("error", err))
			pause(ctx, acceptPause)
		case err != nil:
			return err
		default:
			conns.Go(func() { _ = h.ServeConn(ctx, conn) })
		}
	}
}

func isTemporary(err error) bool {
	var ne net.Error
	//nolint:staticcheck // deprecated for being vague; for Accept there is nothing else
	return errors.As(err, &ne) && ne.Temporary()
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// ErrBusy says that Options.MaxConnections are open.
var ErrBusy = errors.New("too many connections")

// ServeConn serves the DRPC services to one connection, which may be one end
// of a net.Pipe, and closes it. It returns when the peer hangs up, or ctx or
// the hub ends. The connection is one session.
func (h *Hub) ServeConn(ctx context.Context, conn net.Conn) error {
	ctx, end, err := h.begin(ctx)
	if err != nil {
		_ = conn.Close()
		return err
	}
	defer end()
	select {
	case h.slots <- struct{}{}:
		defer func() { <-h.slots }()
	default:
		_ = conn.Close()
		h.log.Warn("connection refused", slog.Any("error", ErrBusy), slog.Int("limit", cap(h.slots)))
		return ErrBusy
	}
	s := newSession(&h.live)
	defer func() {
		for _, id := range s.end() {
			h.log.Info("agent disconnected", slog.String("agent", id))
		}
	}()
	server := drpcserver.NewWithOptions(&handler{hub: h, session: s}, drpcserver.Options{Manager: drpcmanager.Options{
		Reader: drpcwire.ReaderOptions{MaximumBufferSize: wire.MaxMessage},
		Stream: drpcstream.Options{MaximumBufferSize: wire.MaxMessage},
	}})
	err = server.ServeOne(ctx, conn)
	if err != nil && !errors.Is(err, io.EOF) && ctx.Err() == nil {
		h.log.Debug("connection ended", slog.Any("error", err))
	}
	return nil
}

// handler stands before the mux: a call is authenticated before its message
// is even decoded.
type handler struct {
	hub     *Hub
	session *session
}

// HandleRPC implements drpc.Handler.
func (c *handler) HandleRPC(stream drpc.Stream, rpc string) (err error) {
	defer func() {
		// A panic would end the process, and with it all other agents.
		if p := recover(); p != nil {
			c.hub.log.Error("call panicked", slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
			err = errInternal
		}
	}()
	agentID, err := c.hub.authenticateAgent(stream.Context())
	if err != nil {
		// A peer that is still sending when the answer comes would see EOF
		// instead of it.
		_ = stream.MsgRecv(nil, discard{})
		return err
	}
	if c.session.attach(agentID) {
		c.hub.log.Info("agent connected", slog.String("agent", agentID))
	}
	ctx := context.WithValue(stream.Context(), callerKey{}, caller{agentID: agentID, session: c.session})
	return c.hub.mux.HandleRPC(callStream{inner: stream, ctx: ctx}, rpc)
}

// discard is an encoding that reads nothing out of a message.
type discard struct{}

func (discard) Marshal(drpc.Message) ([]byte, error) { return nil, nil }
func (discard) Unmarshal([]byte, drpc.Message) error { return nil }

// errInternal is all that an agent learns of what is wrong within the hub.
var errInternal = errors.New("internal error; see the hub's log")

// caller is who makes a call; it travels in the call's context.
type caller struct {
	agentID string
	session *session
}

type callerKey struct{}

// callStream is a stream with another context.
type callStream struct {
	inner drpc.Stream
	ctx   context.Context //nolint:containedctx // that is what a drpc.Stream is
}

func (s callStream) Context() context.Context                      { return s.ctx }
func (s callStream) MsgSend(m drpc.Message, e drpc.Encoding) error { return s.inner.MsgSend(m, e) }
func (s callStream) MsgRecv(m drpc.Message, e drpc.Encoding) error { return s.inner.MsgRecv(m, e) }
func (s callStream) CloseSend() error                              { return s.inner.CloseSend() }
func (s callStream) Close() error                                  { return s.inner.Close() }
