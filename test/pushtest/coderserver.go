// Package coderserver is a Coder server as seen by agents: a WebSocket that carries yamux,
// with a stream for each call. It uses only public packages and nothing of hub, so that the
// two ends of a test can't share a mistake.
//
// Like Coder's server, a Server refuses handshakes with another token or another version.
// The caller provides a handler for the services on its streams; Pushes is one that checks
// pushes by the rules of Coder's server and stores them.
//
// # Concurrency
//
// All methods may be called from any goroutine; fields are set before Start.

package pushtest

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/hashicorp/yamux"
	"storj.io/drpc"
	"storj.io/drpc/drpcserver"
)

// Token is the token of the agents of a Server, unless it is given another one.
const Token = "9b2e8a4c-0000-4000-8000-a3d5f7c1e9b0"

// CoderServer is one. It isn't started, like an httptest.Server of NewUnstartedServer.
type CoderServer struct {
	*httptest.Server
	// Token is the one that is let in; others get 401.
	Token string
	// Options are those of DRPC; zero is its defaults, as Coder has them.
	Options drpcserver.Options

	handler drpc.Handler

	mu       sync.Mutex // guards the rest
	requests []*http.Request
	sessions []*yamux.Session
	streams  int
	serving  sync.WaitGroup
}

// NewCoderServer makes a server with the services of a handler.
func NewCoderServer(handler drpc.Handler) *CoderServer {
	s := &CoderServer{Token: Token, handler: handler}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v2/workspaceagents/me/rpc", s.serve)
	s.Server = httptest.NewUnstartedServer(mux)
	return s
}

// Close ends all connections and waits for what they were served by.
func (s *CoderServer) Close() {
	s.Cut()
	s.Server.Close()
	s.serving.Wait()
}

func (s *CoderServer) serve(w http.ResponseWriter, r *http.Request) {
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
	if r.Header.Get("Coder-Session-Token") != s.Token {
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
	if err != nil { // of the configuration alone
		panic(err)
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
			_ = drpcserver.NewWithOptions(s.handler, s.Options).ServeOne(context.Background(), stream)
			_ = stream.Close()
		})
	}
}

// Cut closes all connections, as a server that stops does.
func (s *CoderServer) Cut() {
	s.mu.Lock()
	sessions := s.sessions
	s.sessions = nil
	s.mu.Unlock()
	for _, session := range sessions {
		_ = session.Close()
	}
}

// Request returns the i-th handshake.
func (s *CoderServer) Request(i int) *http.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests[i]
}

// Connections is how many handshakes there were.
func (s *CoderServer) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.requests)
}

// Calls is how many streams there were.
func (s *CoderServer) Calls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.streams
}
