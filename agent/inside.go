package agent

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"

	"waymark/agent/hubcalls"
	"waymark/agentapi/client"
	"waymark/internal/httpapi"
)

// inside connects parts of this program to its own local API. They are ordinary clients, so
// that they can't do more than their token allows. It needs no socket, because an agent
// that listens on TCP has none.
type inside struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newInside() *inside { return &inside{conns: make(chan net.Conn), closed: make(chan struct{})} }

// Accept implements net.Listener.
func (i *inside) Accept() (net.Conn, error) {
	select {
	case conn := <-i.conns:
		return conn, nil
	case <-i.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (i *inside) Close() error {
	i.once.Do(func() { close(i.closed) })
	return nil
}

// Addr implements net.Listener. Connections count as made over the Unix socket, which marks
// them as the user's.
func (*inside) Addr() net.Addr { return &net.UnixAddr{Name: "inside", Net: "unix"} }

// insideConn is the server's end of a connection.
type insideConn struct {
	net.Conn

	listener *inside
}

// LocalAddr implements net.Conn.
func (c insideConn) LocalAddr() net.Addr { return c.listener.Addr() }

// dial connects.
func (i *inside) dial(ctx context.Context) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case i.conns <- insideConn{far, i}:
		return near, nil
	case <-i.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// insideTimeout limits calls whose context has no deadline. Calls for a hub have one.
const insideTimeout = 10 * time.Minute

// client returns a client of this agent that authenticates with a token.
func (i *inside) client(token string) client.Client {
	return client.New("unix:inside", client.Options{Token: token, Dial: i.dial, Timeout: insideTimeout})
}

// serveInside serves the API to this program itself, in addition to others.
func (d *Agent) serveInside(handler http.Handler, others func(context.Context) error) func(context.Context) error {
	server := &httpapi.Server{Handler: handler, Logger: d.log}
	return func(ctx context.Context) error {
		ctx, cancel := context.WithCancel(ctx)
		own := make(chan error, 1)
		go func() { own <- server.Serve(ctx, d.services.inside) }()
		err := others(ctx)
		cancel()
		if insideErr := <-own; err == nil {
			err = insideErr
		}
		return err
	}
}

// newRemote makes the service that lets chats at the hub call tools.
func (s *services) newRemote() *hubcalls.Service {
	return hubcalls.New(hubcalls.Options{
		Enabled: func() bool { return s.config.Load().Hub }, Tokens: s.tokens, Audit: s.audit, Logger: s.d.log,
		Client: s.inside.client,
	})
}
