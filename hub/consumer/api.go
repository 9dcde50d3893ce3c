package consumer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"waymark/hub/store"
)

// Options configure an API. Store and Lookup must be set.
type Options struct {
	// Store has everything. The API doesn't close it.
	Store store.Store
	// Lookup finds the valid token with a text, of whatever role. Its errors
	// are ErrUnauthorized, or what is wrong within the hub.
	Lookup func(ctx context.Context, text string) (store.Token, error)
	// Session finds the valid session with a text; nil means that there are
	// none. Its errors are those of Lookup.
	Session func(ctx context.Context, text string) (store.Session, error)
	// Connected lists the agents that have a connection, to this hub or to
	// another over the same database; nil means that none has.
	Connected func() []string
	// Limits bound what readers may cost.
	Limits Limits
	// Logger gets what goes wrong; nil means none.
	Logger *slog.Logger
	// Now is the clock by which tokens and sessions expire; nil means time.Now.
	Now func() time.Time
}

// API is the HTTP API below Root. New makes one, Close ends it.
type API struct {
	opts     Options
	store    store.Store
	log      *slog.Logger
	limits   Limits
	table    []route
	guard    *http.CrossOriginProtection
	feed     *feed
	presence *presence
	sessions sessions
	// heavy holds an element for each comparison or rendering.
	heavy chan struct{}

	// ctx ends when Close is called.
	ctx       context.Context //nolint:containedctx // the life of the API
	cancel    context.CancelFunc
	closeOnce sync.Once
}

// New makes an API. It starts nothing.
func New(opts Options) *API {
	opts.Limits.setDefaults()
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.Connected == nil {
		opts.Connected = func() []string { return nil }
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	a := &API{
		opts: opts, store: opts.Store, log: opts.Logger, limits: opts.Limits,
		guard: http.NewCrossOriginProtection(), heavy: make(chan struct{}, opts.Limits.Heavy),
	}
	a.ctx, a.cancel = context.WithCancel(context.Background()) //nolint:gosec // Close calls it
	a.feed = newFeed(a.ctx, opts.Store, opts.Logger)
	a.presence = newPresence(a)
	a.sessions.init(a)
	a.table = a.routes()
	return a
}

// Close ends all streams and waiting requests, and waits for what looks after
// them; the requests themselves are waited for by who serves them. It may be
// called twice.
func (a *API) Close() error {
	a.closeOnce.Do(a.cancel)
	a.feed.wait()
	a.presence.wait()
	a.sessions.wait()
	return nil
}

// ServeHTTP implements http.Handler.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	seen := &seenWriter{ResponseWriter: w}
	defer func() {
		if p := recover(); p != nil {
			a.survive(seen, r, p)
		}
	}()
	seal(w.Header())
	reader, err := a.Authenticate(r)
	if err == nil {
		err = a.checkOrigin(r)
	}
	if err != nil {
		a.refuse(seen, r, err)
		return
	}
	a.dispatch(seen, r, reader)
}

// survive answers for a handler that panicked. An answer that had begun is cut,
// so that nobody takes it for whole.
func (a *API) survive(w *seenWriter, r *http.Request, p any) {
	if p == http.ErrAbortHandler { //nolint:errorlint,err113 // it is compared so by net/http, too
		panic(p)
	}
	a.log.Error("request panicked", slog.String("path", r.URL.Path), slog.String("panic", fmt.Sprint(p)),
		slog.String("stack", string(debug.Stack())))
	if w.begun {
		panic(http.ErrAbortHandler)
	}
	a.refuse(w, r, errors.New("panic"))
}

// seenWriter knows whether the answer has begun.
type seenWriter struct {
	http.ResponseWriter
	begun bool
}

func (w *seenWriter) WriteHeader(code int) {
	w.begun = true
	w.ResponseWriter.WriteHeader(code)
}

func (w *seenWriter) Write(p []byte) (int, error) {
	w.begun = true
	return w.ResponseWriter.Write(p)
}

// Unwrap is for http.ResponseController.
func (w *seenWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
