package hub_test

import (
	"context"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"testing"

	"waymark/hub"
	"waymark/hub/store"
	"waymark/hub/store/sqlite"
	"waymark/test/process"
)

// inSynctest runs f with a hub that listens on pipes alone, under synctest, whose
// clock moves only when everybody waits: what is about time then doesn't
// depend on how fast the machine is.
func inSynctest(t *testing.T, opts hub.Options, f func(t *testing.T, f *fixture, endpoint string)) {
	t.Helper()
	inSynctestOn(t, opts, func(st store.Store) store.Store { return st }, f)
}

// inSynctestOn is inSynctest with a store around the usual one.
func inSynctestOn(t *testing.T, opts hub.Options, around func(store.Store) store.Store, f func(t *testing.T, f *fixture, endpoint string)) {
	t.Helper()
	process.Synctest(t, func(t *testing.T) {
		plain, web := newPipes("drpc"), newPipes("http")
		db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "hub.db"), sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		opts.Store = around(db)
		fix := newFixtureOn(t, opts, plain)
		fix.plain = plain.dial
		fix.client = &http.Client{Transport: &http.Transport{
			DialContext:       func(context.Context, string, string) (net.Conn, error) { return web.dial() },
			DisableKeepAlives: true,
		}}
		server := &http.Server{Handler: fix.hub.Handler()}
		served := make(chan error, 1)
		go func() { served <- server.Serve(web) }()
		t.Cleanup(func() {
			_ = fix.hub.Close() // the connections that the server has given away
			_ = server.Close()
			if err := <-served; err != http.ErrServerClosed {
				t.Error(err)
			}
		})
		f(t, fix, "http://localhost/api/v2/workspaceagents/me/rpc")
	})
}

// pipes is a listener whose connections are pipes.
type pipes struct {
	name  string
	conns chan net.Conn
	done  chan struct{} // closed by Close
	once  sync.Once
}

func newPipes(name string) *pipes {
	return &pipes{name: name, conns: make(chan net.Conn), done: make(chan struct{})}
}

func (p *pipes) dial() (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case p.conns <- far:
		return near, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

// Accept implements net.Listener.
func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.conns:
		return conn, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (p *pipes) Close() error {
	p.once.Do(func() { close(p.done) })
	return nil
}

// Addr implements net.Listener.
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: p.name, Net: "pipe"} }
