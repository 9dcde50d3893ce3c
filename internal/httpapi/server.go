package httpapi

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/net/netutil"
)

const (
	// Requests have a few lines, usually from the same machine. These limits allow for a busy
	// machine, but not for a client that sends single bytes to hold a connection.
	defaultHeaderTimeout = 5 * time.Second
	defaultReadTimeout   = 15 * time.Second
	defaultWriteTimeout  = 30 * time.Second
	defaultIdleTimeout   = time.Minute
	// defaultGrace leaves half of the second in which an agent must end to everything else.
	defaultGrace = 500 * time.Millisecond
	// defaultMaxConns keeps a client that leaks connections from using up the file
	// descriptors that the engine needs to read a workspace.
	defaultMaxConns = 256
	// maxHeader has room for the longest path, URL-encoded.
	maxHeader = 32 << 10
)

// ErrStopping is the cause with which the context of every request ends when its server
// stops.
var ErrStopping = errors.New("stopping")

// Server serves a handler on one listener. All fields but Handler may be zero.
type Server struct {
	Handler http.Handler
	// Logger gets errors of connections; nil logs nothing.
	Logger *slog.Logger
	// HeaderTimeout, ReadTimeout and WriteTimeout cut off slow clients. Defaults 5 s, 15 s
	// and 30 s. Routes may give their requests more.
	HeaderTimeout, ReadTimeout, WriteTimeout time.Duration
	// IdleTimeout ends idle connections. Default 1 min.
	IdleTimeout time.Duration
	// Grace is how long exchanges may take to finish when the server stops. Default 500 ms.
	Grace time.Duration
	// MaxConns bounds the connections; more wait in the listener's queue. Default 256.
	MaxConns int
}

// Serve serves until ctx ends. Then the contexts of requests end with ErrStopping, and
// exchanges, including WebSockets, have Grace to finish. It closes the listener. It returns
// nil, or the error that ended it.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	// Handlers must outlive ctx, to answer that the agent is stopping.
	base, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(ErrStopping)
	var handlers tracker
	srv := s.server(base, handlers.track(s.Handler))
	stopped := make(chan struct{})
	unregister := context.AfterFunc(ctx, func() {
		defer close(stopped)
		stop(ErrStopping)
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), cmp.Or(s.Grace, defaultGrace))
		defer cancel()
		if srv.Shutdown(grace) != nil {
			_ = srv.Close()
		}
		handlers.wait(grace) // net/http knows nothing of WebSockets
	})
	err := srv.Serve(netutil.LimitListener(l, cmp.Or(s.MaxConns, defaultMaxConns)))
	if !unregister() { // it has started: wait for it
		<-stopped
	}
	if ctx.Err() != nil && errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

func (s *Server) server(base context.Context, handler http.Handler) *http.Server {
	log := cmp.Or(s.Logger, slog.New(slog.DiscardHandler))
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: cmp.Or(s.HeaderTimeout, defaultHeaderTimeout),
		ReadTimeout:       cmp.Or(s.ReadTimeout, defaultReadTimeout),
		WriteTimeout:      cmp.Or(s.WriteTimeout, defaultWriteTimeout),
		IdleTimeout:       cmp.Or(s.IdleTimeout, defaultIdleTimeout),
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		BaseContext:       func(net.Listener) context.Context { return base },
	}
}

// tracker counts the requests that are being handled.
type tracker struct {
	mu   sync.Mutex // guards the rest
	n    int
	none chan struct{} // closed when the last ends; nil while nobody waits
}

func (t *tracker) track(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.add(1)
		defer t.add(-1)
		next.ServeHTTP(w, r)
	})
}

func (t *tracker) add(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n += n; t.n == 0 && t.none != nil {
		close(t.none)
		t.none = nil
	}
}

// wait waits until there are no requests, or ctx ends.
func (t *tracker) wait(ctx context.Context) {
	t.mu.Lock()
	if t.n == 0 {
		t.mu.Unlock()
		return
	}
	none := make(chan struct{})
	t.none = none
	t.mu.Unlock()
	select {
	case <-none:
	case <-ctx.Done():
	}
}
