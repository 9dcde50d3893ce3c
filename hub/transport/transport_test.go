package transport_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"storj.io/drpc"
	"storj.io/drpc/drpcconn"
	"storj.io/drpc/drpcmetadata"
	"storj.io/drpc/drpcmux"

	"waymark/hub/transport"
	"waymark/wire"
	"waymark/wire/waymark"
)

// services know one token, which may be revoked, and serve calls for Push.
type services struct {
	waymark.DRPCContextUnimplementedServer
	mux *drpcmux.Mux
	// atEnd is called at the end of a session; it may be nil.
	atEnd func()

	mu      sync.Mutex // guards the rest
	revoked bool
	served  []transport.Call
	ended   []error
}

func newServices(t *testing.T) *services {
	t.Helper()
	s := &services{mux: drpcmux.New()}
	if err := waymark.DRPCRegisterContext(s.mux, s); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *services) Authenticate(_ context.Context, token string) (transport.Peer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if token != "good" || s.revoked {
		return transport.Peer{}, transport.ErrUnauthorized
	}
	return transport.Peer{TokenID: "id", AgentID: "agent"}, nil
}

func (s *services) ValidTokens(_ context.Context, ids []string) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.revoked {
		return nil, nil
	}
	return slices.Clone(ids), nil
}

func (s *services) revoke() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revoked = true
}

func (s *services) NewSession(func(error)) transport.Session { return &session{s} }

func (s *services) BeginCall(ctx context.Context, _ string) context.Context { return ctx }

func (s *services) EndCall(_ context.Context, _ *transport.Call, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = append(s.ended, err)
}

// Push implements waymark.DRPCContextServer.
func (s *services) Push(ctx context.Context, _ *waymark.PushRequest) (*waymark.PushResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.served = append(s.served, *transport.CallOf(ctx))
	return &waymark.PushResponse{Accepted: true}, nil
}

type session struct{ services *services }

func (s *session) End() {
	if s.services.atEnd != nil {
		s.services.atEnd()
	}
}
func (s *session) Begin(context.Context, string) error { return nil }
func (s *session) HandleRPC(stream drpc.Stream, method string) error {
	return s.services.mux.HandleRPC(stream, method)
}

// connect makes a connection to a transport that ends with the test.
func connect(t *testing.T, tr *transport.Transport) *drpcconn.Conn {
	t.Helper()
	near, far := net.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = tr.ServeConn(context.Background(), far)
	}()
	conn := drpcconn.New(near)
	t.Cleanup(func() {
		_ = conn.Close()
		<-done
	})
	return conn
}

func push(conn *drpcconn.Conn, token string) error {
	ctx := drpcmetadata.Add(context.Background(), wire.TokenMetadata, token)
	_, err := waymark.NewDRPCContextClient(conn).Push(ctx, &waymark.PushRequest{Version: 1})
	return err
}

// TestCalls: services get the calls of those who have a valid token, and hear of
// the end of all.
func TestCalls(t *testing.T) {
	s := newServices(t)
	tr := transport.New(transport.Options{Services: s})
	defer tr.Close()
	conn := connect(t, tr)
	if err := push(conn, "bad"); !wire.IsUnauthorized(err) {
		t.Errorf("with a bad token: %v", err)
	}
	if tr.Connected("agent") || len(s.served) > 0 {
		t.Errorf("connected %v, served %+v", tr.Connected("agent"), s.served)
	}
	if err := push(conn, "good"); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.served) != 1 || s.served[0].AgentID != "agent" || s.served[0].Bytes != 2 || s.served[0].Received.IsZero() || s.served[0].Session == nil {
		t.Errorf("served %+v", s.served)
	}
	if len(s.ended) == 0 || !errors.Is(s.ended[0], transport.ErrUnauthorized) {
		t.Errorf("ended with %v", s.ended)
	}
	if agents := tr.Agents(); !slices.Equal(agents, []string{"agent"}) || tr.Connections() != 1 {
		t.Errorf("agents %v on %d connections", agents, tr.Connections())
	}
}

// TestEnds: a connection ends when its token is revoked, although its peer is
// silent, and when the transport is drained; nothing new is served then. When its session
// hears of that, the agent isn't connected any more.
func TestEnds(t *testing.T) {
	for name, end := range map[string]func(*services, *transport.Transport) error{
		"revoked": func(s *services, _ *transport.Transport) error { s.revoke(); return nil },
		"drained": func(_ *services, tr *transport.Transport) error { return tr.Drain(context.Background()) },
		"closed":  func(_ *services, tr *transport.Transport) error { tr.Close(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			s := newServices(t)
			tr := transport.New(transport.Options{Services: s, Limits: transport.Limits{Recheck: time.Millisecond}})
			defer tr.Close()
			connected := make(chan bool, 1)
			s.atEnd = func() { connected <- tr.Connected("agent") }
			conn := connect(t, tr)
			if err := push(conn, "good"); err != nil {
				t.Fatal(err)
			}
			if err := end(s, tr); err != nil {
				t.Fatal(err)
			}
			<-conn.Closed()
			if <-connected {
				t.Error("still connected at the end of the session")
			}
			if name == "revoked" {
				return // others are still served
			}
			near, far := net.Pipe()
			defer near.Close()
			if err := tr.ServeConn(context.Background(), far); !errors.Is(err, transport.ErrClosed) {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}
