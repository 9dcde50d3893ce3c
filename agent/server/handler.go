package server

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"time"

	"waymark/host/applicability"
	"waymark/host/sources"
	"waymark/internal/errtext"
	"waymark/internal/httpapi"
	"waymark/internal/httpapi/problem"
)

// Error is the body of every unsuccessful answer, and what a client returns for one. A
// Backend may return one to determine the answer.
type Error = problem.Error

// ErrStopping says that the agent is stopping. Waiting requests get it, too.
var ErrStopping = fmt.Errorf("the agent is %w", httpapi.ErrStopping)

// ErrHeld says that the request needs the first snapshot, which is held back. Such requests
// don't wait, because nobody knows for how long.
var ErrHeld = errors.New("the first snapshot is held back until the file of --wait-for is there; 'agent ready' makes it now")

// API is the local API of one Backend.
type API struct {
	router *httpapi.Router
	opts   Options
	log    *slog.Logger
	guard  guard
	// instance identifies this life of the agent in ETags, because versions restart with
	// the agent.
	instance string
	// waits holds a token for each request that waits.
	waits   chan struct{}
	encoded encoded
}

// New makes an API. The package comment says who has access.
func New(opts Options) *API {
	opts.setDefaults()
	h := &API{
		opts: opts, log: opts.Logger, guard: newGuard(&opts),
		instance: newInstance(), waits: make(chan struct{}, opts.MaxWaits),
	}
	h.router = httpapi.New(httpapi.Options{
		Name: "agent", Admit: h.admit, Guard: opts.Guard, Classify: h.classify, Observe: h.observe, Logger: opts.Logger, WriteTimeout: opts.WriteTimeout, Document: opts.Document,
	}, h.Services()...)
	return h
}

// Services returns the API's own routes and Options.Services. Options.Document describes
// them.
func (h *API) Services() []httpapi.Service {
	return slices.Concat([]httpapi.Service{{Routes: h.routes(), About: about()}}, h.opts.Services)
}

// ServeHTTP implements http.Handler.
func (h *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.router.ServeHTTP(w, r) }

func newInstance() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

func (h *API) routes() []httpapi.Route {
	timeout := h.opts.Timeout // limits the Backend; snapshot and resync have their own limits
	approve := "approve"
	if h.opts.Guard == nil {
		approve = ""
	}
	list := []httpapi.Route{
		{Method: http.MethodGet, Pattern: "/healthz", Handle: h.getHealth, Failed: "health is not known"},
		{Method: http.MethodGet, Pattern: "/metrics", Handle: h.getMetrics, Failed: "there are no metrics"},
		{Method: http.MethodGet, Pattern: "/api/v0/openapi.json", Handle: httpapi.ServeDocument, Failed: "the document can't be shown"},
		{Method: http.MethodGet, Pattern: "/api/v0/status", Handle: h.getStatus, Failed: "the status is not known"},
		{Method: http.MethodGet, Pattern: "/api/v0/plugins", Handle: h.getPlugins, Failed: "the plugins are not known"},
		{Method: http.MethodPost, Pattern: "/api/v0/plugins/retry", Effect: httpapi.Acts, Handle: command(h.opts.Backend.RetryPlugins), Failed: "the plugins were not retried", Timeout: timeout},
		{Method: http.MethodGet, Pattern: "/api/v0/plugins/waiting", Handle: h.getWaitingPlugins, Failed: "it is not known which plugins wait"},
		{Method: http.MethodPost, Pattern: "/api/v0/plugins/approve", Scope: approve, Effect: httpapi.Acts, Handle: h.approvePlugin, Failed: "the plugin was not approved", Timeout: timeout},
		{Method: http.MethodGet, Pattern: "/api/v0/context/snapshot", Handle: h.getSnapshot, Failed: "there is no snapshot to show"},
		{Method: http.MethodPost, Pattern: "/api/v0/context/resync", Effect: httpapi.Reads, Handle: h.resync, Failed: "the resync was not completed"},
		{Method: http.MethodGet, Pattern: "/api/v0/context/resources/{id...}", Handle: h.getResource, Failed: "there is nothing to read"},
		{Method: http.MethodGet, Pattern: "/api/v0/context/why", Handle: h.getWhy, Failed: "the question was not answered", Timeout: timeout},
		{Method: http.MethodGet, Pattern: "/api/v0/context/for", Handle: h.getFor, Failed: "it is not known what applies to the file", Timeout: timeout},
		{Method: http.MethodGet, Pattern: "/api/v0/context/client", Handle: h.getClient, Failed: "it is not known what the client sees", Timeout: timeout},
		{Method: http.MethodGet, Pattern: "/api/v0/context/skill-files", Handle: h.getSkillFiles, Failed: "the skill's files are not known", Timeout: timeout},
		{Method: http.MethodGet, Pattern: "/api/v0/context/skill-file", Handle: h.getSkillFile, Failed: "the skill's file can't be read", Timeout: timeout},
		{Method: http.MethodGet, Pattern: "/api/v0/context/coverage", Handle: h.getCoverage, Failed: "it is not known what isn't used", Timeout: timeout},
		{Method: http.MethodPut, Pattern: "/api/v0/context/root", Effect: httpapi.Acts, Handle: h.putRoot, Failed: "the root was not set", Timeout: timeout},
		{Method: http.MethodPost, Pattern: "/api/v0/context/ready", Effect: httpapi.Acts, Handle: command(h.opts.Backend.Ready), Failed: "the first snapshot was not released", Timeout: timeout},
		{Method: http.MethodGet, Pattern: sourcesPath, Handle: h.listSources, Failed: "the sources are not known"},
		{Method: http.MethodPost, Pattern: sourcesPath, Effect: httpapi.Acts, Handle: h.addSource, Failed: "the source was not added", Timeout: timeout},
		{Method: http.MethodGet, Pattern: sourcesPath + "/{path...}", Handle: h.getSource, Failed: "the source is not known"},
		{Method: http.MethodDelete, Pattern: sourcesPath + "/{path...}", Effect: httpapi.Acts, Handle: h.removeSource, Failed: "the source was not removed", Timeout: timeout},
	}
	said := operations()
	for i := range list {
		list[i].Handle = checked(list[i].Handle)
		list[i].Operation = said[list[i].Method+" "+strings.ReplaceAll(list[i].Pattern, "...}", "}")]
	}
	return list
}

// checked refuses requests that are wrong for every route.
func checked(next httpapi.Handler) httpapi.Handler {
	return func(c *httpapi.Call) error {
		switch {
		case strings.ContainsRune(c.Arg("id")+c.Arg("path"), 0):
			return &Error{Code: http.StatusBadRequest, Message: c.Failed(), Detail: "a path has no NUL byte"}
		case c.ContentLength != 0 && c.Method != http.MethodPost && c.Method != http.MethodPut:
			// If it stayed unread, net/http wouldn't notice that the client disconnects.
			return &Error{Code: http.StatusBadRequest, Message: c.Failed(), Detail: c.Method + " takes no body"}
		}
		return next(c)
	}
}

// command handles a call without arguments and result.
func command(do func(context.Context) error) httpapi.Handler {
	return func(c *httpapi.Call) error {
		if err := c.DecodeNothing(); err != nil {
			return err
		}
		if err := do(c.Context()); err != nil {
			return err
		}
		return c.NoContent()
	}
}

// admit decides whether a request is served.
func (h *API) admit(r *http.Request) (context.Context, error) {
	if errors.Is(context.Cause(r.Context()), httpapi.ErrStopping) {
		return nil, &Error{Code: http.StatusServiceUnavailable, Message: ErrStopping.Error()}
	}
	return h.guard.check(r)
}

func (h *API) observe(r *http.Request, status int, took time.Duration) {
	h.log.Debug("request", slog.String("method", r.Method), slog.String("path", r.URL.Path), slog.Int("status", status), slog.Duration("took", took))
}

// classify returns the answer for an error of the Backend.
func (h *API) classify(c *httpapi.Call, err error) *Error {
	e := &Error{Message: c.Failed(), Detail: errtext.Of(err)}
	is := func(targets ...error) bool {
		return slices.ContainsFunc(targets, func(target error) bool { return errors.Is(err, target) })
	}
	switch {
	case is(httpapi.ErrNoRoute):
		e.Code, e.Message = http.StatusNotFound, err.Error()
		e.Detail, e.See = c.Method+" "+c.URL.Path, "GET /api/v0/openapi.json"
	case is(httpapi.ErrStopping), errors.Is(context.Cause(c.Context()), httpapi.ErrStopping):
		e.Code, e.Detail = http.StatusServiceUnavailable, ErrStopping.Error()
	case is(ErrHeld):
		e.Code, e.Detail, e.See = http.StatusConflict, ErrHeld.Error(), "POST /api/v0/context/ready"
	case is(context.DeadlineExceeded), c.Context().Err() != nil:
		e.Code, e.Detail = http.StatusGatewayTimeout, "it took longer than the caller waits"
	case is(context.Canceled): // not canceled by the client, so the agent is stopping
		e.Code, e.Detail = http.StatusServiceUnavailable, ErrStopping.Error()
	case is(sources.ErrNotFound, applicability.ErrOutside):
		e.Code = http.StatusNotFound
	case is(applicability.ErrSecret):
		e.Code = http.StatusForbidden
	case is(sources.ErrInvalid, sources.ErrRelative, sources.ErrNotAllowed, sources.ErrTooMany, applicability.ErrPath):
		e.Code = http.StatusBadRequest
	case namesPath(c.Request) && is(fs.ErrNotExist, fs.ErrPermission, syscall.ENOTDIR, syscall.ELOOP, syscall.ENAMETOOLONG):
		e.Code = http.StatusBadRequest
	default:
		e.Code = http.StatusInternalServerError
	}
	return e
}

// namesPath reports whether the body of a request names a path. If it does, a file system
// error about a path is the caller's mistake, otherwise the agent's.
func namesPath(r *http.Request) bool {
	return r.Method == http.MethodPut || r.Method == http.MethodPost && r.URL.Path == sourcesPath
}
