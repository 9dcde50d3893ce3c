package push

import (
	"context"
	"errors"
	"io"
	"net"
	"time"

	"github.com/coder/websocket"
	"github.com/hashicorp/yamux"
	"storj.io/drpc"
)

// muxBacklog bounds the streams that a peer may open towards us. None is ever
// accepted, so this is only about memory.
const muxBacklog = 16

// muxConn is a DRPC connection over a yamux session: each call has a stream
// of its own, so that one call's end isn't the connection's.
type muxConn struct {
	session *yamux.Session
}

var _ drpc.Conn = (*muxConn)(nil)

// newMuxConn makes a connection of a WebSocket, which it owns if there is no
// error.
func newMuxConn(ws *websocket.Conn) (*muxConn, error) {
	conn := websocket.NetConn(context.Background(), ws, websocket.MessageBinary)
	ws.SetReadLimit(maxFrame) // NetConn has just taken the limit away
	config := yamux.DefaultConfig()
	config.AcceptBacklog = muxBacklog
	config.LogOutput, config.Logger = nil, silent{}
	session, err := yamux.Client(abrupt{conn, ws}, config)
	if err != nil {
		return nil, err
	}
	return &muxConn{session: session}, nil
}

// abrupt is a WebSocket that is closed without asking the peer, which could
// hold that up for seconds.
type abrupt struct {
	conn net.Conn
	ws   *websocket.Conn
}

func (a abrupt) Read(p []byte) (int, error)  { return a.conn.Read(p) }
func (a abrupt) Write(p []byte) (int, error) { return a.conn.Write(p) }

// Close implements io.Closer.
func (a abrupt) Close() error { return errors.Join(a.ws.CloseNow(), a.conn.Close()) }

// Close implements drpc.Conn. It ends the WebSocket, too.
func (c *muxConn) Close() error { return c.session.Close() }

// Closed implements drpc.Conn.
func (c *muxConn) Closed() <-chan struct{} { return c.session.CloseChan() }

// Invoke implements drpc.Conn.
func (c *muxConn) Invoke(ctx context.Context, rpc string, enc drpc.Encoding, in, out drpc.Message) error {
	transport, err := c.open(ctx)
	if err != nil {
		return err
	}
	conn := NewConn(transport)
	defer func() { _ = conn.Close() }()
	return conn.Invoke(ctx, rpc, enc, in, out)
}

// NewStream implements drpc.Conn. The stream must be closed.
func (c *muxConn) NewStream(ctx context.Context, rpc string, enc drpc.Encoding) (drpc.Stream, error) {
	transport, err := c.open(ctx)
	if err != nil {
		return nil, err
	}
	conn := NewConn(transport)
	stream, err := conn.NewStream(ctx, rpc, enc)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return muxStream{inner: stream, conn: conn}, nil
}

// open opens a yamux stream. Where the peer doesn't read, that would wait for
// longer than ctx; then the whole connection is given up.
func (c *muxConn) open(ctx context.Context) (io.ReadWriteCloser, error) {
	stop := context.AfterFunc(ctx, func() { _ = c.session.Close() })
	defer stop()
	stream, err := c.session.OpenStream()
	if err != nil {
		return nil, err
	}
	return muxTransport{stream}, nil
}

// muxTransport is a stream whose Close ends a Read that is under way, too:
// yamux leaves that to the peer, and DRPC waits for it.
type muxTransport struct{ stream *yamux.Stream }

func (t muxTransport) Read(p []byte) (int, error)  { return t.stream.Read(p) }
func (t muxTransport) Write(p []byte) (int, error) { return t.stream.Write(p) }

// Close implements io.Closer.
func (t muxTransport) Close() error {
	err := t.stream.Close()
	_ = t.stream.SetReadDeadline(time.Unix(1, 0)) // it never fails
	return err
}

// muxStream is a call and the connection that is its own.
type muxStream struct {
	inner drpc.Stream
	conn  drpc.Conn
}

func (s muxStream) Context() context.Context                      { return s.inner.Context() }
func (s muxStream) MsgSend(m drpc.Message, e drpc.Encoding) error { return s.inner.MsgSend(m, e) }
func (s muxStream) MsgRecv(m drpc.Message, e drpc.Encoding) error { return s.inner.MsgRecv(m, e) }
func (s muxStream) CloseSend() error                              { return s.inner.CloseSend() }

// Close implements drpc.Stream.
func (s muxStream) Close() error {
	err := s.inner.Close()
	_ = s.conn.Close() // the answer is in, or never will be
	return err
}

// silent is a logger for yamux, whose lines say nothing that its errors don't.
type silent struct{}

func (silent) Print(...any)          {}
func (silent) Printf(string, ...any) {}
func (silent) Println(...any)        {}
