package postgres_test

import (
	"encoding/binary"
	"io"
	"net"
	"net/url"
	"slices"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// proxy stands between a store and its server, and can cut connections at any
// message that the server sends.
type proxy struct {
	t        testing.TB
	network  string
	address  string
	listener net.Listener
	wg       sync.WaitGroup

	mu    sync.Mutex // guards all below
	conns map[net.Conn]struct{}
	// cut decides whether to cut before this message is passed on; nil: never.
	// It is called under the lock.
	cut  func(kind byte, body []byte) bool
	cuts int
}

// newProxy starts a proxy before the server of the URL, and returns the URL
// that leads through it.
func newProxy(t testing.TB, direct string) (*proxy, string) {
	t.Helper()
	config, err := pgx.ParseConfig(direct)
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{t: t, conns: map[net.Conn]struct{}{}}
	p.network, p.address = pgconn.NetworkAddress(config.Host, config.Port)
	if p.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	p.wg.Go(p.serve)
	t.Cleanup(func() {
		_ = p.listener.Close()
		p.cutAll()
		p.wg.Wait()
	})
	u, err := url.Parse(direct)
	if err != nil {
		t.Fatal(err)
	}
	u.Host = p.listener.Addr().String()
	query := u.Query()
	query.Del("host")
	query.Set("sslmode", "disable")
	u.RawQuery = query.Encode()
	return p, u.String()
}

func (p *proxy) serve() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial(p.network, p.address)
		if err != nil {
			_ = client.Close()
			continue
		}
		p.mu.Lock()
		p.conns[client], p.conns[server] = struct{}{}, struct{}{}
		p.mu.Unlock()
		p.wg.Go(func() { _, _ = io.Copy(server, client); p.end(client, server) })
		p.wg.Go(func() { p.pass(client, server); p.end(client, server) })
	}
}

// pass passes the server's messages on until one is to be cut.
func (p *proxy) pass(client, server net.Conn) {
	header := make([]byte, 5)
	for {
		if _, err := io.ReadFull(server, header); err != nil {
			return
		}
		body := make([]byte, binary.BigEndian.Uint32(header[1:])-4)
		if _, err := io.ReadFull(server, body); err != nil {
			return
		}
		p.mu.Lock()
		cut := p.cut != nil && p.cut(header[0], body)
		if cut {
			p.cuts++
		}
		p.mu.Unlock()
		if cut {
			return
		}
		if _, err := client.Write(slices.Concat(header, body)); err != nil {
			return
		}
	}
}

func (p *proxy) end(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		_ = c.Close()
		delete(p.conns, c)
	}
}

// cutAll cuts all connections there are.
func (p *proxy) cutAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
}

// arm sets what decides, and forgets the cuts so far.
func (p *proxy) arm(cut func(kind byte, body []byte) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut, p.cuts = cut, 0
}

// done disarms the proxy and returns how often it has cut.
func (p *proxy) done() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = nil
	return p.cuts
}

// atMessage cuts once, before the n-th message from now on.
func atMessage(n int) func(byte, []byte) bool {
	return func(byte, []byte) bool {
		n--
		return n == 0
	}
}

// atCommit cuts once, when the server says that it has committed.
func atCommit() func(byte, []byte) bool {
	once := false
	return func(kind byte, body []byte) bool {
		if once || kind != 'C' || string(body) != "COMMIT\x00" {
			return false
		}
		once = true
		return true
	}
}
