package hub

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"waymark/hub/transport"
)

const (
	writeTimeout = time.Minute
	idleTimeout  = 2 * time.Minute
	// maxHeader leaves room for the longest resource id, URL-encoded.
	maxHeader = 32 << 10
	// maxBody limits the bodies of requests, which have a few fields or none.
	maxBody = 4 << 10
	// extraHTTP is the number of readers' HTTP connections in addition to the agents'.
	extraHTTP = 1024
	// monitorConns is enough for a handful of scrapers and probes.
	monitorConns = 64
)

// DefaultDrain is the default time for stopping: enough for a push of 4 MiB over a slow
// connection, and short enough for the process to end within 5 seconds.
const DefaultDrain = 3 * time.Second

// Run serves until ctx ends, then stops gracefully: it accepts nothing new, answers calls
// in progress, tells the agents to reconnect, and returns nil. After
// ListenOptions.DrainTimeout it ends what is left. If a listener fails, it stops everything
// and returns that error. Call it once.
func (s *Server) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// Serving continues while stopping.
	serving, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	web, monitor := s.webServer(), s.monitorServer()
	parts := []func() error{func() error { return s.serve(web, s.http) }}
	if monitor != nil {
		parts = append(parts, func() error { return s.serve(monitor, s.monitor) })
	}
	for _, listener := range s.drpc {
		parts = append(parts, func() error { return s.hub.ServeDRPC(serving, listener) })
	}
	results := make(chan error, len(parts))
	for _, part := range parts {
		go func() { results <- part() }()
	}
	var watching sync.WaitGroup
	if s.tls != nil {
		watching.Go(func() { s.tls.watch(ctx) })
	}
	watching.Go(func() {
		<-ctx.Done()
		s.stop(web, monitor)
		end()
	})
	var first error
	for range parts {
		err := <-results
		if early := ctx.Err() != nil && errors.Is(err, ErrClosed); err != nil && !early && first == nil { // stopped before it could start
			first = fmt.Errorf("serve: %w", err)
		}
		cancel() // if one part ends, all end
	}
	watching.Wait() // Serve returns before the last answers are written
	return first
}

// serve serves an HTTP listener until its server is shut down.
func (s *Server) serve(server *http.Server, listener net.Listener) error {
	if s.tls != nil {
		listener = tls.NewListener(listener, s.tls.config())
	}
	err := server.Serve(listener)
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return err
}

func (s *Server) webServer() *http.Server { return s.newHTTPServer(s.observed(s.handler())) }

func (s *Server) newHTTPServer(handler http.Handler) *http.Server {
	handshake := s.hub.transport.Limits().Handshake
	return &http.Server{
		Handler:     transport.Requests(handler),
		ConnContext: transport.ConnContext,
		// Otherwise it would answer OPTIONS * itself, and keep unauthenticated connections.
		DisableGeneralOptionsHandler: true,
		// A request is a few lines. This suffices for a bad connection, but not for a peer
		// that sends slowly to keep a connection.
		ReadHeaderTimeout: handshake, ReadTimeout: handshake,
		WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeader,
		ErrorLog:       slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
}

// handler returns the hub's handler with what only a server knows.
func (s *Server) handler() http.Handler {
	hub := s.hub.Handler()
	mux := http.NewServeMux()
	mux.Handle("GET /readyz", s.ready)
	mux.HandleFunc("/readyz", methodNotAllowed)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/readyz" {
			mux.ServeHTTP(w, r)
			return
		}
		hub.ServeHTTP(w, r)
	})
}

// monitorServer returns the monitoring server; nil if there is none.
func (s *Server) monitorServer() *http.Server {
	if s.monitor == nil {
		return nil
	}
	mux := http.NewServeMux()
	mux.Handle("GET /readyz", s.ready)
	mux.HandleFunc("GET /healthz", serveHealth)
	if s.metrics != nil {
		mux.Handle("GET /metrics", s.metrics)
	}
	return s.newHTTPServer(mux)
}

// stop stops everything. The monitoring port is last, so that it shows the progress.
func (s *Server) stop(web, monitor *http.Server) {
	s.log.Info("hub is stopping", slog.Duration("within", s.drain))
	ctx, cancel := context.WithTimeout(context.Background(), s.drain)
	defer cancel()
	var both sync.WaitGroup
	both.Go(func() {
		if err := s.hub.Drain(ctx); err != nil {
			s.log.Warn("agents were still at work when the time was up; they will push again", slog.Int("connections", s.hub.Stats().Connections))
		}
	})
	both.Go(func() {
		// Wait for everything but the agents' connections, which were hijacked. Streams of
		// events don't end by themselves.
		_ = s.hub.consumer.Close() // can't fail
		if web.Shutdown(ctx) != nil {
			_ = web.Close()
		}
	})
	both.Wait()
	_ = s.hub.Close()
	if monitor != nil && monitor.Shutdown(ctx) != nil {
		_ = monitor.Close()
	}
}

const (
	// readyFor is how long the store's answer is cached, so that frequent probes don't
	// burden the database, and fleetFor that of counts, because a scrape asks for each of them.
	readyFor, fleetFor = time.Second, 5 * time.Second
	// answerTimeout limits how long the store may take to answer.
	answerTimeout = 3 * time.Second
)

// Why a hub isn't ready.
var (
	errDraining = errors.New("stopping")
	errFull     = errors.New("full")
)

// readiness reports whether the hub can work: for agents, which need a store that can
// write, and a place, and for readers, which only need a store that answers. Who is
// connected stays connected in any case.
type readiness struct {
	hub             *Hub
	agents, readers answer[struct{}]
}

// answer is a cached answer of the store.
type answer[T any] struct {
	mu    sync.Mutex // serializes queries; guards the other fields
	at    time.Time
	value T
	err   error
}

// get returns an answer that is no older than most.
func (a *answer[T]) get(ctx context.Context, most time.Duration, ask func(context.Context) (T, error)) (T, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.at.IsZero() && time.Since(a.at) < most {
		return a.value, a.err
	}
	// Not the caller's context, because other callers share the answer.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerTimeout)
	defer cancel()
	a.value, a.err = ask(ctx)
	a.at = time.Now()
	return a.value, a.err
}

// check returns nil if the hub can take agents.
func (r *readiness) check(ctx context.Context) error {
	switch t := r.hub.transport; {
	case t.Draining():
		return errDraining
	case t.Connections() >= t.Limits().Connections:
		return errFull
	}
	_, err := r.agents.get(ctx, readyFor, func(ctx context.Context) (none struct{}, err error) { return none, r.hub.store.Writable(ctx) })
	return err
}

// checkReaders returns nil if the hub can answer readers.
func (r *readiness) checkReaders(ctx context.Context) error {
	if r.hub.transport.Draining() {
		return errDraining
	}
	_, err := r.readers.get(ctx, readyFor, func(ctx context.Context) (none struct{}, err error) {
		_, err = r.hub.store.ValidTokens(ctx, []string{"none"}) // the cheapest query
		return none, err
	})
	return err
}

// ServeHTTP answers GET /readyz, for balancers. The body says no more than the status.
func (r *readiness) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	check, code, text := r.check, http.StatusServiceUnavailable, "the store can't write\n"
	switch request.URL.Query().Get("for") {
	case "", "agents":
	case "readers":
		check, text = r.checkReaders, "the store doesn't answer\n"
	default:
		http.Error(w, "for is agents or readers", http.StatusBadRequest)
		return
	}
	switch err := check(request.Context()); {
	case err == nil:
		code, text = http.StatusOK, "ready\n"
	case errors.Is(err, errDraining), errors.Is(err, errFull):
		text = err.Error() + "\n"
	}
	w.WriteHeader(code)
	_, _ = w.Write([]byte(text))
}
