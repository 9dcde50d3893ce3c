package server_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"waymark/agent/server"
	"waymark/agent/server/servertest"
	"waymark/internal/httpapi"
)

// pipes is a listener of connections within the process, so that time can be
// the test's. They say that they are a Unix socket's.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	close(p.closed)
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

func (p *pipes) dial() net.Conn {
	ours, theirs := net.Pipe()
	p.conns <- unixConn{theirs, p.Addr()}
	return ours
}

type unixConn struct {
	net.Conn
	addr net.Addr
}

func (c unixConn) LocalAddr() net.Addr { return c.addr }

// running is a Server over pipes.
type running struct {
	*pipes
	stop context.CancelFunc
	done chan error
}

func run(t *testing.T, f *servertest.Backend, srv httpapi.Server) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r := &running{pipes: newPipes(), stop: cancel, done: make(chan error, 1)}
	if srv.Handler == nil {
		srv.Handler = server.New(server.Options{Backend: f})
	}
	go func() { r.done <- srv.Serve(ctx, r.pipes) }()
	return r
}

func (r *running) end(t *testing.T) {
	t.Helper()
	r.stop()
	if err := <-r.done; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

// send writes a request line and a Host header, and what more there is.
func send(t *testing.T, c net.Conn, line string, more ...string) {
	t.Helper()
	text := line + " HTTP/1.1\r\nHost: agent\r\n" + strings.Join(more, "") + "\r\n"
	if _, err := io.WriteString(c, text); err != nil {
		t.Errorf("%s: %v", line, err)
	}
}

// receive reads an answer; nil when the connection is cut instead.
func receive(c net.Conn) *http.Response {
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return nil
	}
	return resp
}
