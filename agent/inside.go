package agent

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"

	remotetools "waymark/agent/hubcalls"
	"waymark/agentapi/client"
	"waymark/internal/httpapi"
)

// inside is how parts of this program use its local API: as clients of it, so that
// nothing is allowed to them that their token doesn't allow, and without a socket, which
// there isn't where the agent listens on TCP.
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

// Addr implements net.Listener. What comes here counts as having come over the socket,
// which is what says that it comes from this machine's user.
func (*inside) Addr() net.Addr { return &net.UnixAddr{Name: "inside", Net: "unix"} }

// insideConn is one end of a connection.
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

// insideTimeout is for calls whose context has no deadline: those for a hub have one.
const insideTimeout = 10 * time.Minute

// client returns a client of this agent that shows a token.
func (i *inside) client(token string) client.Client {
	return client.New("unix:inside", client.Options{Token: token, Dial: i.dial, Timeout: insideTimeout})
}

// serveInside serves the API to this program itself beside who else it is served to.
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

// newRemote makes what has tools called for chats at the hub.
func (s *services) newRemote() *remotetools.Service {
	return remotetools.New(remotetools.Options{
		Enabled: func() bool { return s.config.Load().Hub }, Tokens: s.tokens, Audit: s.audit, Logger: s.d.log,
		Client: s.inside.client,
	})
}
