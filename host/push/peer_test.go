package push_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"storj.io/drpc"
	"storj.io/drpc/drpcmetadata"
	"storj.io/drpc/drpcmux"
	"storj.io/drpc/drpcserver"

	"waymark/abi"
	"waymark/host/push"
	"waymark/snapshot"
	"waymark/wire"
	"waymark/wire/coder"
	"waymark/wire/waymark"
)

var errDown = errors.New("connection refused")

// arrival is one push as the peer saw it.
type arrival struct {
	protocol wire.Protocol
	version  uint64
	initial  bool
	sources  []string
	token    string
	at       time.Time
}

// answer decides what the peer says to a push; nil accepts.
type answer func(ctx context.Context, a arrival) (accepted bool, err error)

// peer is a real DRPC server on the other end of pipes.
type peer struct {
	t *testing.T
	// waymark and coder say which services it has.
	waymark, coder bool
	// unimplemented registers generated servers that implement nothing.
	unimplemented bool
	// reverse serves the reverse channel; without it there is none, and with
	// unknown there is not even the method.
	reverse func(waymark.DRPCContext_ReverseStream) error
	unknown bool

	mu       sync.Mutex // guards the rest
	down     bool
	refuse   error // what Dial returns
	answer   answer
	arrivals []arrival
	// superseded is its answer to an Open.
	superseded bool
	opens      []*waymark.OpenRequest
	reverses   int // calls for a reverse channel
	dials      []time.Time
	conns      []net.Conn
	serving    sync.WaitGroup
}

type contextServer struct {
	waymark.DRPCContextUnimplementedServer
	peer   *peer
	pushed atomic.Bool // something was accepted on this connection
}

func (s *contextServer) Open(_ context.Context, request *waymark.OpenRequest) (*waymark.OpenResponse, error) {
	s.peer.mu.Lock()
	defer s.peer.mu.Unlock()
	s.peer.opens = append(s.peer.opens, request)
	return &waymark.OpenResponse{Superseded: s.peer.superseded}, nil
}

func (s *contextServer) Reverse(stream waymark.DRPCContext_ReverseStream) error {
	if s.peer.reverse == nil {
		return s.DRPCContextUnimplementedServer.Reverse(stream)
	}
	return s.peer.reverse(stream)
}

// handler is the peer's, which counts the calls for a reverse channel.
func (p *peer) handler() drpc.Handler { return &countingHandler{p, p.mux()} }

type countingHandler struct {
	peer *peer
	mux  *drpcmux.Mux
}

// HandleRPC implements drpc.Handler.
func (h *countingHandler) HandleRPC(stream drpc.Stream, method string) error {
	if method != wire.MethodReverse {
		return h.mux.HandleRPC(stream, method)
	}
	h.peer.mu.Lock()
	h.peer.reverses++
	h.peer.mu.Unlock()
	if h.peer.unknown {
		return drpcmux.New().HandleRPC(stream, method)
	}
	return h.mux.HandleRPC(stream, method)
}

func (p *peer) reversed() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reverses
}

func (s *contextServer) Push(ctx context.Context, m *waymark.PushRequest) (*waymark.PushResponse, error) {
	if err := checkWaymark(m); err != nil {
		s.peer.t.Errorf("a push breaks the rules: %v", err)
	}
	a := arrival{protocol: wire.ProtocolWaymark, version: m.Version, initial: !s.pushed.Load()}
	for _, r := range m.Resources {
		a.sources = append(a.sources, r.Source)
	}
	accepted, err := s.peer.receive(ctx, a)
	if accepted && err == nil {
		s.pushed.Store(true)
	}
	return &waymark.PushResponse{Accepted: accepted}, err
}

type agentServer struct {
	coder.DRPCAgentUnimplementedServer
	peer *peer
}

func (s *agentServer) PushContextState(ctx context.Context, m *coder.PushContextStateRequest) (*coder.PushContextStateResponse, error) {
	if err := checkCoder(m); err != nil {
		s.peer.t.Errorf("a push breaks the rules: %v", err)
	}
	a := arrival{protocol: wire.ProtocolCoder, version: m.Version, initial: m.Initial}
	for _, r := range m.Resources {
		a.sources = append(a.sources, r.Source)
	}
	accepted, err := s.peer.receive(ctx, a)
	return &coder.PushContextStateResponse{Accepted: accepted}, err
}

func (p *peer) receive(ctx context.Context, a arrival) (bool, error) {
	metadata, _ := drpcmetadata.Get(ctx)
	a.token, a.at = metadata[wire.TokenMetadata], time.Now()
	p.mu.Lock()
	p.arrivals = append(p.arrivals, a)
	answer := p.answer
	p.mu.Unlock()
	if answer == nil {
		return true, nil
	}
	return answer(ctx, a)
}

func (p *peer) mux() *drpcmux.Mux {
	mux := drpcmux.New()
	var errs []error
	if p.waymark {
		errs = append(errs, waymark.DRPCRegisterContext(mux, &contextServer{peer: p}))
	}
	if p.coder {
		errs = append(errs, coder.DRPCRegisterAgent(mux, &agentServer{peer: p}))
	}
	if p.unimplemented {
		errs = append(errs,
			waymark.DRPCRegisterContext(mux, &waymark.DRPCContextUnimplementedServer{}),
			coder.DRPCRegisterAgent(mux, &coder.DRPCAgentUnimplementedServer{}))
	}
	if err := errors.Join(errs...); err != nil {
		p.t.Fatal(err)
	}
	return mux
}

// Dial implements push.Dialer.
func (p *peer) Dial(context.Context) (drpc.Conn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dials = append(p.dials, time.Now())
	if p.refuse != nil {
		return nil, p.refuse
	}
	if p.down {
		return nil, errDown
	}
	client, server := net.Pipe()
	p.conns = append(p.conns, server)
	p.serving.Go(func() {
		_ = drpcserver.New(p.handler()).ServeOne(context.Background(), server) // ends with the pipe
	})
	return push.NewConn(client), nil
}

func (p *peer) set(change func(*peer)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(p)
}

func (p *peer) received() []arrival {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]arrival{}, p.arrivals...)
}

func (p *peer) opened() []*waymark.OpenRequest {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]*waymark.OpenRequest{}, p.opens...)
}

func (p *peer) dialed() []time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]time.Time{}, p.dials...)
}

// cut closes all connections, as a peer that stops does.
func (p *peer) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range p.conns {
		_ = conn.Close()
	}
	p.conns = nil
}

// start runs a Pusher against p and ends both with the test. Inside a
// synctest bubble, a goroutine that is left over fails the test.
func start(t *testing.T, p *peer, opts push.Options) *push.Pusher {
	t.Helper()
	opts.Dialer = p
	pusher := push.New(opts)
	done := make(chan error, 1)
	go func() { done <- pusher.Run(t.Context()) }()
	t.Cleanup(func() {
		if err := pusher.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
		p.cut()
		p.serving.Wait()
	})
	return pusher
}

func accepted(t *testing.T, p *push.Pusher, version uint64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	if err := p.Accepted(ctx, version); err != nil {
		t.Fatal(err)
	}
}

// state waits until the pusher has reached a state.
func state(t *testing.T, p *push.Pusher, want push.State) push.Status {
	t.Helper()
	deadline := time.After(time.Hour)
	for {
		status, changed := p.Watch()
		if status.State == want {
			return status
		}
		select {
		case <-changed:
		case <-deadline:
			t.Fatalf("state is %s (%s), want %s", status.State, status.LastError, want)
		}
	}
}

// said waits until the pusher tells of an error.
func said(t *testing.T, p *push.Pusher, want string) {
	t.Helper()
	deadline := time.After(time.Hour)
	for {
		status, changed := p.Watch()
		if status.LastError == want {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			t.Fatalf("the error is %q, want %q", status.LastError, want)
		}
	}
}

// snap makes a snapshot with an instruction file for each source.
func snap(version uint64, sources ...string) *snapshot.Snapshot {
	s := &snapshot.Snapshot{Version: version, AggregateHash: []byte{byte(version)}}
	for _, source := range sources {
		s.Resources = append(s.Resources, snapshot.Resource{
			Kind: abi.KindInstructionFile, Source: source, Status: snapshot.StatusOK, Payload: []byte("text of " + source),
		})
	}
	return s
}

// logBuffer collects a log.
type logBuffer struct {
	mu  sync.Mutex // guards buf
	buf bytes.Buffer
}

func (b *logBuffer) Write(data []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(data)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func (b *logBuffer) logger() *slog.Logger {
	return slog.New(slog.NewJSONHandler(b, &slog.HandlerOptions{Level: slog.LevelDebug}))
}
