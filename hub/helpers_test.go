package hub_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"storj.io/drpc/drpcconn"
	"storj.io/drpc/drpcmetadata"

	"waymark/hub"
	"waymark/hub/store"
	"waymark/hub/store/sqlite"
	"waymark/hub/transport"
	"waymark/test/pgtest"
	"waymark/test/pushtest"
	"waymark/test/testenv"
	"waymark/wire"
	"waymark/wire/coder"
	"waymark/wire/waymark"
)

func TestMain(m *testing.M) { pgtest.Exit(testenv.RunParallel(m)) }

// timeout is for what takes moments on a fast machine: long enough for one
// that is slow and stands still now and then, short enough to be reported.
const timeout = 5 * time.Minute

// withTimeouts gives limits that a test doesn't set, and isn't about, times that no
// machine is too slow for.
func withTimeouts(l transport.Limits) transport.Limits {
	l.Handshake, l.Read, l.Write = cmp.Or(l.Handshake, timeout), cmp.Or(l.Read, timeout), cmp.Or(l.Write, timeout)
	l.Stall = cmp.Or(l.Stall, timeout)
	l.Farewell, l.Ping = cmp.Or(l.Farewell, timeout), cmp.Or(l.Ping, time.Hour)
	return l
}

// fixture is a hub with a store, served on a unix socket, or under synctest
// on pipes.
type fixture struct {
	t     testing.TB
	hub   *hub.Hub
	store store.Store
	log   *safeBuffer
	// plain makes a connection for plain DRPC.
	plain func() (net.Conn, error)
	// client dials WebSockets; nil is the usual one.
	client *http.Client
}

// safeBuffer collects the log.
type safeBuffer struct {
	mu       sync.Mutex // guards the rest
	buf      bytes.Buffer
	panicked bool // a call has
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.panicked = b.panicked || bytes.Contains(p, []byte("panicked"))
	return b.buf.Write(p)
}

func (b *safeBuffer) hasPanicked() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.panicked
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func newFixture(t testing.TB, opts hub.Options) *fixture {
	t.Helper()
	opts.Limits = withTimeouts(opts.Limits)
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := new(net.ListenConfig).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	f := newFixtureOn(t, opts, listener)
	f.plain = func() (net.Conn, error) { return net.Dial("unix", socket) }
	return f
}

func newFixtureOn(t testing.TB, opts hub.Options, listener net.Listener) *fixture {
	t.Helper()
	st := opts.Store
	var err error
	if st == nil {
		if st, err = sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "hub.db"), sqlite.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	f := &fixture{t: t, store: st, log: new(safeBuffer)}
	opts.Store = st
	opts.Logger = slog.New(slog.NewTextHandler(f.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	if f.hub, err = hub.New(opts); err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- f.hub.ServeDRPC(context.Background(), listener) }()
	t.Cleanup(func() {
		if err := f.hub.Close(); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil && err != hub.ErrClosed {
			t.Error(err)
		}
		_ = st.Close()
	})
	return f
}

// token makes a token and returns its text.
func (f *fixture) token(role store.Role, agentID string) string {
	f.t.Helper()
	text, _, err := hub.CreateToken(context.Background(), f.store, store.NewToken{Role: role, AgentID: agentID})
	if err != nil {
		f.t.Fatal(err)
	}
	return text
}

// peer is one connection of an agent.
type peer struct {
	f    *fixture
	conn *drpcconn.Conn
	ctx  context.Context //nolint:containedctx // holds the token
}

// mustDial makes a connection for plain DRPC.
func (f *fixture) mustDial() net.Conn {
	f.t.Helper()
	conn, err := f.plain()
	if err != nil {
		f.t.Fatal(err)
	}
	return conn
}

func (f *fixture) dial(token string) *peer {
	f.t.Helper()
	p := &peer{f: f, conn: drpcconn.New(f.mustDial())}
	f.t.Cleanup(func() { _ = p.conn.Close() })
	return p.as(token)
}

// as is the same connection with another token.
func (p *peer) as(token string) *peer {
	ctx := context.Background()
	if token != "" {
		ctx = drpcmetadata.Add(ctx, wire.TokenMetadata, token)
	}
	return &peer{p.f, p.conn, ctx}
}

func (p *peer) push(request *pushtest.Push) (accepted bool, err error) {
	response, err := p.pushAny(request)
	return response.GetAccepted(), err
}

// pushAny pushes without an opinion on the answer.
func (p *peer) pushAny(request *pushtest.Push) (*waymark.PushResponse, error) {
	return pushtest.Send(p.ctx, waymark.NewDRPCContextClient(p.conn), request)
}

func (p *peer) pushCoder(request *coder.PushContextStateRequest) (accepted bool, err error) {
	response, err := coder.NewDRPCAgentClient(p.conn).PushContextState(p.ctx, request)
	return response.GetAccepted(), err
}

func (p *peer) mustPush(request *pushtest.Push, want bool) {
	p.f.t.Helper()
	if accepted, err := p.push(request); err != nil || accepted != want {
		p.f.t.Fatalf("push of version %d: accepted %v, %v; want %v", request.GetVersion(), accepted, err, want)
	}
}

// eventually asks again and again until it gets a yes, or the timeout is over: for what another goroutine does without telling anybody.
func (f *fixture) eventually(ask func() bool) bool {
	deadline := time.After(timeout)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ask() {
		select {
		case <-tick.C:
		case <-deadline:
			return false
		}
	}
	return true
}

// snapshot returns what the store has, or nil.
func (f *fixture) snapshot(agentID string) *store.StoredSnapshot {
	s, err := f.store.Snapshot(context.Background(), store.Query{AgentID: agentID})
	if err != nil {
		return nil
	}
	return &s
}

// get asks the handler without a network. Empty header values aren't sent.
func (f *fixture) do(method, path, token, host string) *http.Response {
	request := httptest.NewRequest(method, "http://localhost"+path, nil)
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	if host != "" {
		request.Host = host
	}
	recorder := httptest.NewRecorder()
	f.hub.Handler().ServeHTTP(recorder, request)
	return recorder.Result()
}

func body(t testing.TB, response *http.Response) string {
	t.Helper()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func decode(t testing.TB, response *http.Response) (v any) {
	t.Helper()
	if err := json.NewDecoder(response.Body).Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// file returns an instruction file in waymark.v1.
func file(source, text string) *pushtest.Resource {
	return &pushtest.Resource{
		Kind: "instruction_file", Source: source, Status: waymark.Status_STATUS_OK,
		ContentHash: []byte{1}, SizeBytes: uint64(len(text)), Payload: []byte(text), Resolver: "waymark/context@1.0.0",
	}
}

func coderFile(source, text string) *coder.ContextResource {
	return &coder.ContextResource{
		Source: source, Status: coder.ContextResource_OK, ContentHash: []byte{1},
		Body: &coder.ContextResource_InstructionFile{InstructionFile: &coder.InstructionFileBody{Content: []byte(text)}},
	}
}

func long(n int) string { return strings.Repeat("x", n) }

// document is the description of the API.
func document(t *testing.T) []byte {
	t.Helper()
	text, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	return text
}
