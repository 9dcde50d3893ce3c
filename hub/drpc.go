package hub

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"storj.io/drpc/drpcerr"
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
	stopDrain := context.AfterFunc(h.drain.ctx, func() { _ = listener.Close() })
	defer stopDrain()
	defer func() { _ = listener.Close() }()
	door := h.plainDoor(listener.Addr().Network())
	for {
		conn, err := listener.Accept()
		switch {
		case h.drain.begun() && ctx.Err() == nil:
			if err == nil {
				_ = conn.Close()
			}
			conns.Wait() // they come to their ends
			return nil
		case ctx.Err() != nil:
			if err == nil {
				_ = conn.Close()
			}
			return nil
		case isTemporary(err):
			door.relieve()
			if n, due := h.notAccepted.due(); due {
				h.log.Warn("connections not accepted", slog.Any("error", err), slog.Int("times", n))
			}
			pause(ctx, acceptPause)
		case err != nil:
			return err
		default:
			guest := door.admit(conn)
			conns.Go(func() { _ = h.serveGuest(ctx, guest) })
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

// ErrBusy says that Limits.Connections are open.
var ErrBusy = errors.New("too many connections")

// errFull is ErrBusy for an agent.
var errFull = drpcerr.WithCode(ErrBusy, wire.CodeBusy)

// enter takes one of the places for connections.
func (h *Hub) enter() (leave func(), err error) {
	select {
	case h.places <- struct{}{}:
		return func() { <-h.places }, nil
	default:
		return nil, h.full()
	}
}

// full says that there is no place.
func (h *Hub) full() error {
	if n, due := h.refused.due(); due {
		h.log.Warn("connections refused", slog.Any("error", ErrBusy), slog.Int("limit", cap(h.places)), slog.Int("times", n))
	}
	return ErrBusy
}

// plainDoor makes a door for plain DRPC. Those who are no strangers any more
// have one of the places.
func (h *Hub) plainDoor(name string) *door {
	return h.newDoor(name, h.limits.Strangers, h.limits.Connections)
}

// ServeConn serves the DRPC services to one connection, which may be one end
// of a net.Pipe, and closes it. It returns when the peer hangs up, or ctx or
// the hub ends. The connection is one session.
func (h *Hub) ServeConn(ctx context.Context, conn net.Conn) error {
	return h.serveGuest(ctx, h.door.admit(conn))
}

func (h *Hub) serveGuest(ctx context.Context, conn *guest) error {
	ctx, end, err := h.begin(ctx)
	if err != nil {
		_ = conn.Close()
		return err
	}
	defer end()
	if len(h.places) == cap(h.places) { // it couldn't stay
		_ = conn.Close()
		return h.full()
	}
	ctx, drop := context.WithCancelCause(ctx)
	defer drop(nil)
	s := h.newSession(drop)
	defer s.end()
	c := &calls{hub: h, session: s, login: h.loginCall, plain: true}
	leave := func() {}
	defer func() { leave() }()
	c.enter = sync.OnceValue(func() (err error) {
		taken, err := h.enter()
		if err != nil {
			return errFull
		}
		leave = taken
		conn.recognize()
		return nil
	})
	c.intake = newIntake(conn, &h.limits, h.large, h.limits.Handshake)
	h.serveCalls(ctx, c)
	return nil
}

// serveCalls serves one DRPC transport until it ends.
func (h *Hub) serveCalls(ctx context.Context, c *calls) {
	server := drpcserver.NewWithOptions(c, drpcserver.Options{Manager: drpcmanager.Options{
		// The intake refuses what is too large, and answers; DRPC would not.
		Reader: drpcwire.ReaderOptions{MaximumBufferSize: 2 * maxCall},
		Stream: drpcstream.Options{MaximumBufferSize: 2 * maxCall},
	}})
	err := server.ServeOne(ctx, c.intake)
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		err = cause
	}
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, context.Canceled) {
		h.log.Debug("connection ended", slog.Any("error", err))
	}
}
