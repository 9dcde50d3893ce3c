package mcpserver

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"waymark/agentapi/client"
	"waymark/workspace/mcpserver/tools"
)

// MaxCallers limits the concurrent callers of an Endpoint.
const MaxCallers = 16

// ErrFull says that an Endpoint has reached MaxCallers, and none of them is idle.
var ErrFull = errors.New("too many clients with tokens of their own are connected: close one")

// errEnded says that an Endpoint is closed.
var errEnded = errors.New("the agent is stopping")

// EndpointOptions configure an Endpoint. Client is required.
type EndpointOptions struct {
	// Client returns a client of the agent that authenticates with a token; "" means
	// without.
	Client func(token string) client.Client
	// Version is Waymark's version.
	Version string
	// Logger receives problems that no error reports. Nil means no log.
	Logger *slog.Logger
}

// Endpoint serves MCP inside a running agent. It has a Server for each token, because the
// token determines what is offered. A Server is made on demand. It ends some hours after
// the last request, when its token becomes invalid, or when another caller needs its place;
// its sessions end, too, and clients start new ones.
//
// It may be used by any number of goroutines.
type Endpoint struct {
	opts EndpointOptions

	mu     sync.Mutex // guards the fields below
	served map[[sha256.Size]byte]*served
	closed bool
	gone   sync.WaitGroup // goroutines that follow the agent
}

// served is the server for a token.
type served struct {
	key     [sha256.Size]byte
	server  *Server
	handler http.Handler
	ctx     context.Context //nolint:containedctx // it ends when the server is gone, and with it what it serves
	end     context.CancelFunc
	// Guarded by the endpoint's lock.
	under int // requests in progress
	last  time.Time
}

// NewEndpoint makes an Endpoint. The caller must Close it.
func NewEndpoint(opts EndpointOptions) *Endpoint {
	return &Endpoint{opts: opts, served: make(map[[sha256.Size]byte]*served)}
}

// Serve serves a request with a valid token, and offers what the token allows. The caller
// has checked whether the request is allowed (Host, Origin, the token).
//
// # Errors
//
// The error matches ErrFull. If there is an error, nothing was answered.
func (e *Endpoint) Serve(w http.ResponseWriter, r *http.Request, token string, offer tools.Offer) error {
	one, err := e.enter(token, offer)
	if err != nil {
		return err
	}
	defer e.leave(one)
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(one.ctx, cancel)()
	one.handler.ServeHTTP(w, r.WithContext(ctx))
	return nil
}

// enter returns the server for a token, and counts a request.
func (e *Endpoint) enter(token string, offer tools.Offer) (*served, error) {
	key := sha256.Sum256([]byte(token))
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, errEnded
	}
	one := e.served[key]
	if one == nil {
		if !e.room() {
			return nil, ErrFull
		}
		one = e.start(key, token, offer)
	}
	one.under++
	return one, nil
}

// leave ends a request.
func (e *Endpoint) leave(one *served) {
	e.mu.Lock()
	defer e.mu.Unlock()
	one.under--
	one.last = time.Now()
}

// room makes room for another server, and reports whether it could. The caller holds the
// lock.
func (e *Endpoint) room() bool {
	var longest *served
	for _, one := range e.served {
		switch {
		case one.under > 0:
		case time.Since(one.last) > idleSession:
			e.drop(one)
		case longest == nil || one.last.Before(longest.last):
			longest = one
		}
	}
	if len(e.served) >= MaxCallers && longest != nil {
		e.drop(longest)
	}
	return len(e.served) < MaxCallers
}

// start starts the server for a token. The caller holds the lock.
func (e *Endpoint) start(key [sha256.Size]byte, token string, offer tools.Offer) *served {
	ctx, cancel := context.WithCancel(context.Background())
	one := &served{key: key, ctx: ctx, end: cancel, last: time.Now()}
	one.server = New(Options{Offer: offer, Version: e.opts.Version, Logger: e.opts.Logger, Dial: func(ctx context.Context) (client.Client, error) {
		c := e.opts.Client(token)
		if _, err := c.Status(ctx); client.CodeOf(err) == http.StatusUnauthorized {
			e.mu.Lock()
			e.drop(one) // the token is invalid by now
			e.mu.Unlock()
			return nil, err
		}
		return c, nil
	}})
	one.handler = one.server.handler(true)
	e.served[key] = one
	e.gone.Go(func() {
		_ = one.server.Run(ctx) // returns without an error when ctx ends
		for session := range one.server.mcp.Sessions() {
			_ = session.Close() // nobody uses it any more
		}
	})
	return one
}

// drop ends a server. The caller holds the lock.
func (e *Endpoint) drop(one *served) {
	if e.served[one.key] == one {
		delete(e.served, one.key)
	}
	one.end()
}

// Close ends all servers and waits for that.
func (e *Endpoint) Close() {
	e.mu.Lock()
	e.closed = true
	for _, one := range e.served {
		e.drop(one)
	}
	e.mu.Unlock()
	e.gone.Wait()
}
