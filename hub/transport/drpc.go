package transport

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"storj.io/drpc/drpcmanager"
	"storj.io/drpc/drpcmetadata"
	"storj.io/drpc/drpcserver"
	"storj.io/drpc/drpcstream"
	"storj.io/drpc/drpcwire"

	"waymark/internal/await"
	"waymark/wire"
)

// acceptPause is the pause after a connection couldn't be accepted for lack of a resource
// such as file descriptors.
const acceptPause = 100 * time.Millisecond

// ServeDRPC serves plain DRPC on all connections of the listener. It returns nil when ctx
// or the transport ends, and otherwise the listener's error. It then has closed the
// listener and all connections.
func (t *Transport) ServeDRPC(ctx context.Context, listener net.Listener) error {
	ctx, end, err := t.begin(ctx)
	if err != nil {
		_ = listener.Close()
		return err
	}
	defer end()
	ctx, cancel := context.WithCancel(ctx)
	var conns sync.WaitGroup
	defer conns.Wait()
	defer cancel() // before the wait: deferred calls run in reverse
	stop := context.AfterFunc(ctx, func() { _ = listener.Close() })
	defer stop()
	stopDrain := context.AfterFunc(t.draining, func() { _ = listener.Close() })
	defer stopDrain()
	defer func() { _ = listener.Close() }()
	door := t.agentsDoor(listener.Addr().Network())
	for {
		conn, err := listener.Accept()
		switch {
		case t.Draining() && ctx.Err() == nil:
			if err == nil {
				_ = conn.Close()
			}
			conns.Wait() // let them finish
			return nil
		case ctx.Err() != nil:
			if err == nil {
				_ = conn.Close()
			}
			return nil
		case isTemporary(err):
			door.relieve()
			if n, due := t.notAccepted.due(); due {
				t.log.Warn("connections not accepted", slog.Any("error", err), slog.Int("times", n))
			}
			_ = await.Sleep(ctx, acceptPause) // the loop checks ctx
		case err != nil:
			return err
		default:
			peer := door.admit(conn)
			conns.Go(func() { _ = t.servePlain(ctx, peer) })
		}
	}
}

func isTemporary(err error) bool {
	var ne net.Error
	//nolint:staticcheck // deprecated for being vague; for Accept there is nothing else
	return errors.As(err, &ne) && ne.Temporary()
}

// agentsDoor makes a door for plain DRPC.
func (t *Transport) agentsDoor(name string) *Door {
	return t.NewDoor(name, t.limits.Unauthenticated, t.limits.Connections)
}

// ServeConn serves plain DRPC on a connection, which may be one end of a net.Pipe, and
// closes it. It returns when the peer disconnects, or ctx or the transport ends.
func (t *Transport) ServeConn(ctx context.Context, conn net.Conn) error {
	return t.servePlain(ctx, t.inside.admit(conn))
}

func (t *Transport) servePlain(ctx context.Context, peer *doorConn) error {
	ctx, end, err := t.begin(ctx)
	if err != nil {
		_ = peer.Close()
		return err
	}
	defer end()
	if len(t.slots) == cap(t.slots) { // it couldn't stay
		_ = peer.Close()
		return t.full()
	}
	ctx, drop := context.WithCancelCause(ctx)
	defer drop(nil)
	c := &calls{t: t, conn: t.newConn(drop), authenticate: t.authenticateCall, plain: true}
	defer c.conn.end()
	release := func() {}
	defer func() { release() }()
	c.takeSlot = sync.OnceValue(func() error {
		taken, err := t.takeSlot()
		if err != nil {
			return errFull
		}
		release = taken
		peer.authenticated()
		return nil
	})
	c.intake = newIntake(peer, &t.limits, t.large, t.limits.Handshake)
	t.serveCalls(ctx, c)
	return nil
}

// authenticateCall authenticates a call by the token in its metadata.
func (t *Transport) authenticateCall(ctx context.Context) (Peer, error) {
	metadata, _ := drpcmetadata.Get(ctx)
	return t.services.Authenticate(ctx, metadata[wire.TokenMetadata])
}

// serveCalls serves a DRPC transport until it ends.
func (t *Transport) serveCalls(ctx context.Context, c *calls) {
	server := drpcserver.NewWithOptions(c, drpcserver.Options{Manager: drpcmanager.Options{
		// The intake refuses too large messages with an answer; DRPC would not answer.
		Reader: drpcwire.ReaderOptions{MaximumBufferSize: 2 * maxCall},
		Stream: drpcstream.Options{MaximumBufferSize: 2 * maxCall},
	}})
	err := server.ServeOne(ctx, c.intake)
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		err = cause
	}
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, context.Canceled) {
		t.log.Debug("connection ended", slog.Any("error", err))
	}
}
