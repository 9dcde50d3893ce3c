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

// MaxCallers bounds the callers that an Endpoint serves at a time.
const MaxCallers = 16

// ErrFull says that an Endpoint serves as many callers as it can, all of them now.
var ErrFull = errors.New("too many clients with tokens of their own are connected: close one")

// errEnded says that an Endpoint is closed.
var errEnded = errors.New("the agent is stopping")

// EndpointOptions configure an Endpoint. Client must be set.
type EndpointOptions struct {
	// Client returns a client of the agent that shows a token; none where it is empty.
	Client func(token string) client.Client
	// Version is Waymark's.
	Version string
	// Logger gets what is wrong without being an error of anybody's. Nil means none.
	Logger *slog.Logger
}

// Endpoint is how a running agent itself serves MCP: one Server for all who show the same
// token, since that decides what is offered. A server is made when somebody comes, and is
// gone some hours after the last request, when its token isn't valid any more, or when
// others need its place; sessions end with it, and their clients begin new ones.
//
// It may be used by any number of goroutines.
type Endpoint struct {
	opts EndpointOptions

	mu     sync.Mutex // guards what follows
	served map[[sha256.Size]byte]*served
	closed bool
	gone   sync.WaitGroup // those that follow the agent
}

// served is the server of a token.
type served struct {
	key     [sha256.Size]byte
	server  *Server
	handler http.Handler
	ctx     context.Context //nolint:containedctx // it ends when the server is gone, and with it what it serves
	end     context.CancelFunc
	// What follows belongs to the endpoint's lock.
	under int // requests under way
	last  time.Time
}

// NewEndpoint makes an Endpoint. Close ends it.
func NewEndpoint(opts EndpointOptions) *Endpoint {
	return &Endpoint{opts: opts, served: make(map[[sha256.Size]byte]*served)}
}

// Serve serves a request of somebody who has shown a token, which is valid, and to whom
// offer is to be offered: what the token allows. That it is allowed to come here at all
// (Host, Origin, the token) is for the caller to look at.
//
// # Errors
//
// ErrFull is matched. With an error nothing was answered.
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

// enter returns the server for a token, with a request under way.
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

// room makes room for one more, and reports whether there is any. The caller has the lock.
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

// start starts the server of a token. The caller has the lock.
func (e *Endpoint) start(key [sha256.Size]byte, token string, offer tools.Offer) *served {
	ctx, cancel := context.WithCancel(context.Background())
	one := &served{key: key, ctx: ctx, end: cancel, last: time.Now()}
	one.server = New(Options{Offer: offer, Version: e.opts.Version, Logger: e.opts.Logger, Dial: func(ctx context.Context) (client.Client, error) {
		c := e.opts.Client(token)
		if _, err := c.Status(ctx); client.CodeOf(err) == http.StatusUnauthorized {
			e.mu.Lock()
			e.drop(one) // the token has ended
			e.mu.Unlock()
			return nil, err
		}
		return c, nil
	}})
	one.handler = one.server.handler(true)
	e.served[key] = one
	e.gone.Go(func() {
		_ = one.server.Run(ctx) // it ends with ctx, and without an error
		for session := range one.server.mcp.Sessions() {
			_ = session.Close() // nobody uses it any more
		}
	})
	return one
}

// drop ends a server. The caller has the lock.
func (e *Endpoint) drop(one *served) {
	if e.served[one.key] == one {
		delete(e.served, one.key)
	}
	one.end()
}

// Close ends all of them, and waits for it.
func (e *Endpoint) Close() {
	e.mu.Lock()
	e.closed = true
	for _, one := range e.served {
		e.drop(one)
	}
	e.mu.Unlock()
	e.gone.Wait()
}
