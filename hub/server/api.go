package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"waymark/hub/api"
	"waymark/hub/store"
	"waymark/internal/errtext"
	"waymark/internal/httpapi"
	"waymark/internal/httpapi/problem"
)

// Options configure an API. Store and Lookup are required.
type Options struct {
	// Store has the data. The API doesn't close it.
	Store store.Store
	// Lookup finds a valid token by its text, whatever its role. The error is
	// ErrUnauthorized or an internal one.
	Lookup func(ctx context.Context, text string) (store.Token, error)
	// Session finds a valid session by its text; nil means that there are none. The errors
	// are those of Lookup.
	Session func(ctx context.Context, text string) (store.Session, error)
	// ClientContext asks an existing agent what a client would see there; nil means that
	// agents can't be asked. The error is a *problem.Error or the context's.
	ClientContext func(ctx context.Context, agentID, client string) (*api.ClientContext, error)
	// Coverage asks an agent in the same way which files aren't used there.
	Coverage func(ctx context.Context, agentID string) (*api.Coverage, error)
	// Pinned is called after a snapshot was pinned, before the answer; it may be nil.
	Pinned func(ctx context.Context, pin *store.Pin)
	// Services are served in addition to the API's own routes, to the same readers.
	// ReaderOf returns the reader.
	Services []httpapi.Service
	// Backup writes a copy of the database to a new file; nil means that there are no
	// backups.
	Backup func(ctx context.Context, file string) error
	// Document is the OpenAPI 3.1 description of the API including Services.
	Document []byte
	// Limits limit what readers may cost.
	Limits Limits
	// Logger receives errors; nil means no log.
	Logger *slog.Logger
	// Now is the clock for the expiry of tokens and sessions; nil means time.Now.
	Now func() time.Time
}

// Limits limit what readers may cost a hub. 0 means the default.
type Limits struct {
	// Streams limits the streams and waiting requests of all readers. Default 1024: each
	// costs a connection and some 20 KiB.
	Streams int
	// StreamsPerToken limits those of one token. Default 64: a chat server has one token
	// for many chats, but can share a stream among them.
	StreamsPerToken int
	// ListRate and ListBurst limit how often a token may ask for lists of agents and search, a
	// second, and ListsPerToken how many such questions are answered at a time. Defaults 50,
	// 200 and 4: a page asks for a handful at once.
	ListRate      float64
	ListBurst     int
	ListsPerToken int
	// Renderings limits the concurrent comparisons and Markdown renderings; others wait.
	// Default 4: each holds two snapshots with their payloads.
	Renderings int
	// MaxWait limits how long a request waits, whatever it asks for. Default 1 minute,
	// which proxies usually allow.
	MaxWait time.Duration
	// Heartbeat is the interval of keep-alives on a silent stream. Default 15 s.
	Heartbeat time.Duration
	// Write limits how long a reader may take to read what is sent. Default 30 s.
	Write time.Duration
	// Recheck is the interval of checking the tokens and sessions of streams again. Default
	// 1 s: it takes a single query for all.
	Recheck time.Duration
	// Presence is how soon a stream reports that an agent has connected or disconnected.
	// Default 500 ms.
	Presence time.Duration
	// Away is how long an agent must be away before requests that wait for its discovery
	// are answered. Default 5 s: longer than an agent takes to reconnect to a restarted
	// hub, and another hub to learn of that.
	Away time.Duration
}

func (l *Limits) setDefaults() {
	l.Streams = cmp.Or(l.Streams, 1024)
	l.StreamsPerToken = cmp.Or(l.StreamsPerToken, 64)
	l.ListRate = cmp.Or(l.ListRate, 50)
	l.ListBurst = cmp.Or(l.ListBurst, 200)
	l.ListsPerToken = cmp.Or(l.ListsPerToken, 4)
	l.Renderings = cmp.Or(l.Renderings, 4)
	l.MaxWait = cmp.Or(l.MaxWait, time.Minute)
	l.Heartbeat = cmp.Or(l.Heartbeat, 15*time.Second)
	l.Write = cmp.Or(l.Write, 30*time.Second)
	l.Recheck = cmp.Or(l.Recheck, time.Second)
	l.Presence = cmp.Or(l.Presence, 500*time.Millisecond)
	l.Away = cmp.Or(l.Away, 5*time.Second)
}

// API is the HTTP API below api.Root. Make one with New.
type API struct {
	opts     Options
	store    store.Store
	log      *slog.Logger
	limits   Limits
	router   *httpapi.Router
	guard    *http.CrossOriginProtection
	feed     *feed
	presence *presence
	sessions sessions
	shares   shares
	// renderings has an element for each comparison or Markdown rendering in progress.
	renderings chan struct{}
	// awaySince is when the database ceased to answer, in microseconds; 0 while it does.
	awaySince atomic.Int64
	// backups has an element while a backup is being made.
	backups chan struct{}

	// ctx ends with Close.
	ctx    context.Context //nolint:containedctx // the life of the API
	cancel context.CancelFunc
}

// New makes an API. It starts nothing.
func New(opts Options) *API {
	opts.Limits.setDefaults()
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	if opts.Pinned == nil {
		opts.Pinned = func(context.Context, *store.Pin) {}
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	a := &API{
		opts: opts, store: opts.Store, log: opts.Logger, limits: opts.Limits,
		guard: http.NewCrossOriginProtection(), renderings: make(chan struct{}, opts.Limits.Renderings), backups: make(chan struct{}, 1),
	}
	a.ctx, a.cancel = context.WithCancel(context.Background())
	a.feed = newFeed(a.ctx, opts.Store, opts.Logger)
	a.presence = &presence{api: a, ready: make(chan struct{})}
	a.sessions.init(a)
	a.shares = shares{limits: &a.limits, byToken: make(map[string]*share)}
	a.router = httpapi.New(httpapi.Options{
		Name: "hub", Admit: a.admit, Classify: a.classify, Logger: opts.Logger, JSONType: "application/json; charset=utf-8",
		MaxBody: maxBody, WriteTimeout: opts.Limits.Write, RetryAfter: 5, Document: opts.Document,
	}, a.Services()...)
	return a
}

// Services returns the API's own routes and Options.Services. Options.Document describes
// them.
func (a *API) Services() []httpapi.Service {
	return append([]httpapi.Service{{Routes: a.routes(), About: about()}}, a.opts.Services...)
}

// Close ends all streams and waiting requests, and waits for the goroutines behind them.
// The HTTP server waits for the requests. It may be called twice.
func (a *API) Close() error {
	a.cancel()
	a.feed.wait()
	a.presence.wait()
	a.sessions.wait()
	return nil
}

// ServeHTTP implements http.Handler.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.router.ServeHTTP(w, r) }

// maxBody limits a request's body, which has two names.
const maxBody = 4 << 10

// call is a reader's request.
type call struct {
	*httpapi.Call
	reader Reader
	// store shows what the reader may see.
	store view
	// act is what an operator does with it; nil for others.
	act *store.Act
}

func (a *API) routes() []httpapi.Route {
	route := func(method, pattern string, handle func(*call) error) httpapi.Route {
		return httpapi.Route{Method: method, Pattern: api.Root + pattern, Handle: func(c *httpapi.Call) error {
			if _, err := c.Query(); err != nil {
				return err
			}
			reader := ReaderOf(c.Context())
			return handle(&call{Call: c, reader: reader, store: view{a.store, &reader.Token}})
		}}
	}
	list := []httpapi.Route{
		route(http.MethodGet, "/openapi.json", func(c *call) error { return httpapi.ServeDocument(c.Call) }),
		route(http.MethodGet, "/agents", a.sharing(a.listAgents)),
		route(http.MethodGet, "/search", a.sharing(a.search)),
		route(http.MethodGet, "/agents/{id}", a.getAgent),
		route(http.MethodGet, "/agents/{id}/context", a.getContext),
		route(http.MethodGet, "/agents/{id}/context/resources/{rid...}", a.getResource),
		route(http.MethodGet, "/agents/{id}/clients/{client}", a.getClient),
		route(http.MethodGet, "/agents/{id}/coverage", a.getCoverage),
		route(http.MethodGet, "/agents/{id}/history", a.getHistory),
		route(http.MethodGet, "/agents/{id}/diff", a.getDiff),
		route(http.MethodGet, "/pins", a.listPins),
		route(http.MethodPost, "/pins", a.createPin),
		route(http.MethodGet, "/pins/{id}", a.getPin),
		route(http.MethodDelete, "/pins/{id}", a.deletePin),
		route(http.MethodGet, "/pins/{id}/context", a.getPinned),
		route(http.MethodGet, "/pins/{id}/context/resources/{rid...}", a.getPinnedResource),
		route(http.MethodGet, "/pins/{id}/diff", a.getPinDiff),
		route(http.MethodPost, "/pins/{id}/refresh", a.refreshPin),
		route(http.MethodGet, "/events", a.follow),
	}
	list = append(list, a.operating(route)...)
	said := operations()
	for i := range list {
		list[i].Operation = said[list[i].Method+" "+strings.ReplaceAll(list[i].Pattern, "...}", "}")]
	}
	return list
}

// revision returns a query parameter that is a revision or a similar number. given is false
// if it is absent.
func (c *call) revision(name string) (n int64, given bool, err error) {
	number, given, err := c.Number(name, 63)
	return int64(min(number, math.MaxInt64)), given, err
}

// prompt returns the parameters of a text for a prompt; nil if none is requested.
func (c *call) prompt() (*prompt, error) {
	format, err := c.Word("format", "json", "markdown", "pieces")
	if err != nil {
		return nil, err
	}
	client, err := c.Text("client")
	if err != nil {
		return nil, err
	}
	tokens, bounded, err := c.Number("budget", 31)
	switch {
	case err != nil:
		return nil, err
	case format != "markdown" && format != "pieces" && (client != "" || bounded):
		return nil, httpapi.BadQuery("client and budget are for format=markdown and format=pieces")
	case bounded && (tokens < minBudget || tokens > maxBudget):
		return nil, httpapi.BadQuery(fmt.Sprintf("budget is a number of tokens from %d to %d", minBudget, maxBudget))
	case format != "markdown" && format != "pieces":
		return nil, nil
	}
	return &prompt{client: client, budget: int(min(tokens, maxBudget)) * bytesPerToken, pieces: format == "pieces"}, nil
}

// beginRendering waits until fewer than Limits.Renderings are in progress, because each
// takes much memory.
func (a *API) beginRendering(ctx context.Context) (end func(), err error) {
	select {
	case a.renderings <- struct{}{}:
		return func() { <-a.renderings }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-a.ctx.Done():
		return nil, a.ctx.Err()
	}
}

// away returns the answer while the database is away. The log has why, once.
func (a *API) away(err error) *problem.Error {
	now := a.opts.Now()
	if a.awaySince.CompareAndSwap(0, now.UnixMicro()) {
		a.log.Error("the database doesn't answer", slog.Any("error", err))
	}
	since := time.UnixMicro(a.awaySince.Load()).UTC()
	if since.UnixMicro() == 0 { // it is back just now
		since = now.UTC()
	}
	return &problem.Error{Code: http.StatusServiceUnavailable, Message: "the hub's database doesn't answer",
		Detail: "since " + since.Format(time.RFC3339) + "; the hub's log says why. Ask again later"}
}

// back notes that the database has answered.
func (a *API) back() {
	if since := a.awaySince.Load(); since != 0 && a.awaySince.CompareAndSwap(since, 0) {
		a.log.Info("the database answers again", slog.Duration("away", a.opts.Now().Sub(time.UnixMicro(since)).Round(time.Second)))
	}
}

// classify returns the answer for an error.
func (a *API) classify(c *httpapi.Call, err error) *problem.Error {
	var missing *store.NotFoundError
	switch {
	case errors.Is(err, httpapi.ErrNoRoute):
		return &problem.Error{Code: http.StatusNotFound, Message: "no such page", See: "GET " + api.Root + "/openapi.json"}
	case errors.As(err, &missing):
		return &problem.Error{Code: http.StatusNotFound, Message: "not found", Detail: missing.Error()}
	case errors.Is(err, ErrUnauthorized):
		return &problem.Error{Code: http.StatusUnauthorized, Message: "unauthorized",
			Detail: "send a reader token as Authorization: Bearer TOKEN; hub token create --role reader makes one"}
	case errors.Is(err, ErrForbidden):
		return &problem.Error{Code: http.StatusForbidden, Message: "forbidden", Detail: "this is an agent's token; reading needs a reader token"}
	case errors.Is(err, store.ErrAway) && c.Context().Err() == nil:
		return a.away(err)
	case errors.Is(err, store.ErrInvalid):
		return &problem.Error{Code: http.StatusBadRequest, Message: "the request is not what it should be", Detail: errtext.Of(err)}
	case errors.Is(err, store.ErrApprovalExists):
		return &problem.Error{Code: http.StatusConflict, Message: "the approval was not added", Detail: store.ErrApprovalExists.Error()}
	case errors.Is(err, store.ErrTooManyApprovals):
		return &problem.Error{Code: http.StatusConflict, Message: "the approval was not added", Detail: store.ErrTooManyApprovals.Error()}
	case errors.Is(err, store.ErrTokenExists):
		return &problem.Error{Code: http.StatusConflict, Message: "the token was not created", Detail: store.ErrTokenExists.Error()}
	case errors.Is(err, store.ErrTooManyWebhooks):
		return &problem.Error{Code: http.StatusConflict, Message: "the webhook was not added", Detail: store.ErrTooManyWebhooks.Error()}
	case errors.Is(err, store.ErrTooManyPins):
		return &problem.Error{Code: http.StatusConflict, Message: "the pin was not made", Detail: store.ErrTooManyPins.Error()}
	case a.ctx.Err() != nil:
		return &problem.Error{Code: http.StatusServiceUnavailable, Message: "the hub is stopping", Detail: "ask again, or ask another hub of the same database"}
	}
	return nil
}
