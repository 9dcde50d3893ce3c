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
	"sync"
	"time"

	"waymark/hub/api"
	"waymark/hub/store"
	"waymark/internal/errtext"
	"waymark/internal/httpapi"
	"waymark/internal/httpapi/problem"
)

// Connection is what is known of a connected agent.
type Connection struct {
	// NotHeard is how many others with its token are connected and aren't heard.
	NotHeard int
}

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
	// Connected returns the agents that have a connection, to this hub or to
	// another over the same database, by id; nil means that none has.
	Connected func() map[string]Connection
	// ClientContext asks an agent, which exists, what a client would see there; nil
	// means that no agent can be asked. Its errors are *problem.Error, and those of its
	// context.
	ClientContext func(ctx context.Context, agentID, client string) (*api.ClientContext, error)
	// Coverage asks it in the same way which files aren't used there.
	Coverage func(ctx context.Context, agentID string) (*api.Coverage, error)
	// Pinned is called when a snapshot has been pinned, before that is answered; may be
	// nil.
	Pinned func(ctx context.Context, pin *store.Pin)
	// Services are served in addition to the API's own routes, to the same readers;
	// ReaderOf says to which.
	Services []httpapi.Service
	// Document describes the API with Services, in OpenAPI 3.1.
	Document []byte
	// Limits bound what readers may cost.
	Limits Limits
	// Logger gets what goes wrong; nil means none.
	Logger *slog.Logger
	// Now is the clock by which tokens and sessions expire; nil means time.Now.
	Now func() time.Time
}

// Limits bound what readers may cost a hub. A field that is 0 has its default.
type Limits struct {
	// Streams bounds the streams and waiting requests of all readers. Default
	// 1024: each costs a connection and some 20 KiB.
	Streams int
	// StreamsPerToken is for one token. Default 64: a chat server has one token
	// for many chats, but can share a stream among them.
	StreamsPerToken int
	// Renderings bounds the comparisons and Markdown texts that are made at a
	// time; others wait. Default 4: each holds two snapshots with their payloads.
	Renderings int
	// MaxWait is how long a request waits at most, whatever it asks for.
	// Default 1 minute, which proxies usually allow.
	MaxWait time.Duration
	// Heartbeat is how often a silent stream says that it is alive. Default
	// 15 s.
	Heartbeat time.Duration
	// Write is how long a reader may take to read what is sent. Default 30 s.
	Write time.Duration
	// Recheck is how often the tokens and sessions of streams are looked up
	// again. Default 1 s: it is one question for all of them.
	Recheck time.Duration
	// Presence is how soon a stream says that an agent has connected or
	// disconnected. Default 500 ms.
	Presence time.Duration
	// Away is how long an agent may be away before those are answered who wait for
	// its discovery. Default 5 s: longer than it takes to come back to a hub that was
	// started anew, and to hear of that from another one.
	Away time.Duration
}

func (l *Limits) setDefaults() {
	l.Streams = cmp.Or(l.Streams, 1024)
	l.StreamsPerToken = cmp.Or(l.StreamsPerToken, 64)
	l.Renderings = cmp.Or(l.Renderings, 4)
	l.MaxWait = cmp.Or(l.MaxWait, time.Minute)
	l.Heartbeat = cmp.Or(l.Heartbeat, 15*time.Second)
	l.Write = cmp.Or(l.Write, 30*time.Second)
	l.Recheck = cmp.Or(l.Recheck, time.Second)
	l.Presence = cmp.Or(l.Presence, 500*time.Millisecond)
	l.Away = cmp.Or(l.Away, 5*time.Second)
}

// API is the HTTP API below api.Root. New makes one, Close ends it.
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
	// renderings holds an element for each comparison or Markdown text that is
	// being made.
	renderings chan struct{}

	// ctx ends when Close is called.
	ctx       context.Context //nolint:containedctx // the life of the API
	cancel    context.CancelFunc
	closeOnce sync.Once
}

// New makes an API. It starts nothing.
func New(opts Options) *API {
	opts.Limits.setDefaults()
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	if opts.Connected == nil {
		opts.Connected = func() map[string]Connection { return nil }
	}
	if opts.Pinned == nil {
		opts.Pinned = func(context.Context, *store.Pin) {}
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	a := &API{
		opts: opts, store: opts.Store, log: opts.Logger, limits: opts.Limits,
		guard: http.NewCrossOriginProtection(), renderings: make(chan struct{}, opts.Limits.Renderings),
	}
	a.ctx, a.cancel = context.WithCancel(context.Background())
	a.feed = newFeed(a.ctx, opts.Store, opts.Logger)
	a.presence = &presence{api: a}
	a.sessions.init(a)
	a.router = httpapi.New(httpapi.Options{
		Name: "hub", Admit: a.admit, Classify: a.classify, Logger: opts.Logger, JSONType: "application/json; charset=utf-8",
		MaxBody: maxBody, WriteTimeout: opts.Limits.Write, RetryAfter: 5, Document: opts.Document,
	}, a.Services()...)
	return a
}

// Services are the API's own routes, and those of Options.Services: what Options.Document
// describes.
func (a *API) Services() []httpapi.Service {
	return append([]httpapi.Service{{Routes: a.routes(), About: about()}}, a.opts.Services...)
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
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.router.ServeHTTP(w, r) }

// maxBody bounds a request's body: two names.
const maxBody = 4 << 10

// call is one request of a reader.
type call struct {
	*httpapi.Call
	reader Reader
	// store is what the reader may see.
	store view
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
	add := route(http.MethodPost, "/approvals", operator(a.addApproval))
	add.MaxBody = maxApprovalBody
	list := []httpapi.Route{
		add,
		route(http.MethodGet, "/approvals", operator(a.listApprovals)),
		route(http.MethodDelete, "/approvals/{id}", operator(a.revokeApproval)),
		route(http.MethodGet, "/openapi.json", func(c *call) error { return httpapi.ServeDocument(c.Call) }),
		route(http.MethodGet, "/agents", a.listAgents),
		route(http.MethodGet, "/search", a.search),
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
	said := operations()
	for i := range list {
		list[i].Operation = said[list[i].Method+" "+strings.ReplaceAll(list[i].Pattern, "...}", "}")]
	}
	return list
}

// revision returns a parameter of the query that is a revision, or another number
// that the store keeps as one; given is false when it isn't there.
func (c *call) revision(name string) (n int64, given bool, err error) {
	number, given, err := c.Number(name, 63)
	return int64(min(number, math.MaxInt64)), given, err
}

// prompt says how an answer is wanted for a prompt; nil: it isn't.
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

// beginRendering waits until few enough comparisons and Markdown texts are being
// made, since each holds much memory.
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

// classify finds the answer for an error.
func (a *API) classify(_ *httpapi.Call, err error) *problem.Error {
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
	case errors.Is(err, store.ErrInvalid):
		return &problem.Error{Code: http.StatusBadRequest, Message: "the request is not what it should be", Detail: errtext.Of(err)}
	case errors.Is(err, store.ErrApprovalExists):
		return &problem.Error{Code: http.StatusConflict, Message: "the approval was not added", Detail: store.ErrApprovalExists.Error()}
	case errors.Is(err, store.ErrTooManyApprovals):
		return &problem.Error{Code: http.StatusConflict, Message: "the approval was not added", Detail: store.ErrTooManyApprovals.Error()}
	case errors.Is(err, store.ErrTooManyPins):
		return &problem.Error{Code: http.StatusConflict, Message: "the pin was not made", Detail: store.ErrTooManyPins.Error()}
	case a.ctx.Err() != nil:
		return &problem.Error{Code: http.StatusServiceUnavailable, Message: "the hub is stopping", Detail: "ask again, or ask another hub of the same database"}
	}
	return nil
}
