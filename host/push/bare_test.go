package push_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/hashicorp/yamux"
	"storj.io/drpc/drpcserver"

	"waymark/host/push"
)

// bareServer is a Coder server made of the public packages alone, which does
// what WIRE.md 1.5 says: nothing of hub is in it. The services are those of a
// peer, which checks all rules of Coder's server.
type bareServer struct {
	*httptest.Server
	peer *peer
	// token is the one that is let in; others get 401.
	token string
	// options are those of DRPC; zero is its defaults, as Coder has them.
	options drpcserver.Options

	mu       sync.Mutex // guards the rest
	requests []*http.Request
	sessions []*yamux.Session
	streams  int
	serving  sync.WaitGroup
}

const bareToken = "9b2e8a4c-0000-4000-8000-a3d5f7c1e9b0"

func newBareServer(t *testing.T, p *peer) *bareServer {
	p.t = t
	s := &bareServer{peer: p, token: bareToken}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v2/workspaceagents/me/rpc", s.serve)
	s.Server = httptest.NewUnstartedServer(mux)
	t.Cleanup(func() {
		s.cut()
		s.Close()
		s.serving.Wait()
	})
	return s
}

func (s *bareServer) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requests = append(s.requests, r)
	s.mu.Unlock()
	s.serving.Add(1)
	defer s.serving.Done()
	refuse := func(code int, body any) {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(body)
	}
	if r.Header.Get("Coder-Session-Token") != s.token {
		refuse(401, map[string]any{"message": "Workspace agent not authorized.", "detail": "The agent cannot authenticate until the workspace provision job has been completed."})
		return
	}
	if r.URL.Query().Get("version") != "2.10" {
		refuse(400, map[string]any{"message": "Unknown or unsupported API version", "validations": []map[string]string{{"field": "version", "detail": "invalid version string: "}}})
		return
	}
	ws, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	config := yamux.DefaultConfig()
	config.LogOutput = io.Discard
	config.EnableKeepAlive, config.ConnectionWriteTimeout = false, time.Hour
	session, err := yamux.Server(websocket.NetConn(context.Background(), ws, websocket.MessageBinary), config)
	if err != nil {
		s.peer.t.Error(err)
		return
	}
	s.mu.Lock()
	s.sessions = append(s.sessions, session)
	s.mu.Unlock()
	var streams sync.WaitGroup
	defer streams.Wait()
	for {
		stream, err := session.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.streams++
		s.mu.Unlock()
		streams.Go(func() {
			_ = drpcserver.NewWithOptions(s.peer.handler(), s.options).ServeOne(context.Background(), stream)
			_ = stream.Close()
		})
	}
}

// cut closes all connections, as a server that stops does.
func (s *bareServer) cut() {
	s.mu.Lock()
	sessions := s.sessions
	s.sessions = nil
	s.mu.Unlock()
	for _, session := range sessions {
		_ = session.Close()
	}
}

func (s *bareServer) request(i int) *http.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests[i]
}

// connections is how many handshakes there were.
func (s *bareServer) connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.requests)
}

// calls is how many streams there were.
func (s *bareServer) calls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.streams
}

// remote makes options for the server; change may be nil. No machine is too slow
// for its time limits.
func remote(t *testing.T, url string, change func(*push.RemoteOptions)) push.Options {
	t.Helper()
	opts := push.RemoteOptions{Token: bareToken}
	if change != nil {
		change(&opts)
	}
	got, err := push.Remote(url, opts)
	if err != nil {
		t.Fatal(err)
	}
	got.DialTimeout, got.CallTimeout = time.Hour, time.Hour
	return got
}

// run runs a Pusher and ends it with the test.
func run(t *testing.T, opts push.Options) *push.Pusher {
	t.Helper()
	pusher := push.New(opts)
	done := make(chan error, 1)
	go func() { done <- pusher.Run(context.Background()) }()
	t.Cleanup(func() {
		if err := pusher.Close(); err != nil {
			t.Error(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return pusher
}
