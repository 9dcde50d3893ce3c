package httpapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"

	"waymark/internal/httpapi/problem"
)

// Handler answers a call, or returns an error. An error after the answer has begun cuts the
// connection.
type Handler func(c *Call) error

// Route is one method of one path. Only Method, Pattern and Handle must be set.
type Route struct {
	// Method is the HTTP method. GET serves HEAD, too.
	Method string
	// Pattern is the path. "{name}" stands for one non-empty part of the path, and
	// "{name...}" at the end for the whole rest, slashes included; [Call.Arg] returns the
	// value. If several patterns match, the one with the earlier literal part wins.
	Pattern string
	Handle  Handler
	// Scope is what the caller's token has to grant; "" needs no token. Options.Guard
	// enforces it.
	Scope string
	// Effect is what a call changes. With an Options.Guard, every route but a GET must have
	// one.
	Effect Effect
	// Failed says for a person what failed, for errors without a message of their own.
	Failed string
	// MaxBody bounds the body, and each message of a WebSocket, in bytes. 0 means
	// Options.MaxBody.
	MaxBody int64
	// Untyped accepts a body without a Content-Type as JSON, which Coder's clients send. A
	// page of another origin can send that without a preflight request, so it is only for
	// routes that a token guards.
	Untyped bool
	// BodyTimeout is how long the body may take to arrive; 0 means the server's limit for all
	// requests.
	BodyTimeout time.Duration
	// Timeout ends the call's context. The client has Options.WriteTimeout to read the
	// answer, whenever that begins. 0 means that the context doesn't end, and that the
	// server's own deadline applies.
	Timeout time.Duration
	// Operation is the route's description; nil if there is none, or if it is elsewhere.
	Operation *Operation
}

// Effect is what a call changes. It decides whether a caller that may write only one file may
// make the call.
type Effect int

// The effects. A GET without one reads.
const (
	Reads  Effect = iota + 1 // nothing
	Acts                     // something that no fence bounds: fenced callers are refused
	Fenced                   // something that its handler bounds by the caller's fence
)

// Service is what one package contributes to an API.
type Service struct {
	Routes []Route
	// About is what the description says besides the routes.
	About About
}

// Options configure a Router. The zero value works.
type Options struct {
	// Name is what the server is called in errors: "agent" or "hub". Default "server".
	Name string
	// Admit decides first whether a request is served. The context that it returns is the
	// call's, and may identify the caller. Nil admits everybody.
	Admit func(r *http.Request) (context.Context, error)
	// Guard decides whether a call of a route is permitted; an error is the answer. Nil
	// leaves that to Admit.
	Guard func(c *Call, route *Route) error
	// Classify returns the answer for an error of a handler or of Admit that isn't a
	// *problem.Error; [ErrNoRoute] is one. A nil result means an internal error, which is
	// logged.
	Classify func(c *Call, err error) *problem.Error
	// Observe is called at the end of a call; status 0 means that there was no answer.
	Observe func(r *http.Request, status int, took time.Duration)
	// Document describes all services in OpenAPI 3.1, and is generated from them; see package
	// openapitest.
	Document []byte
	// Logger gets internal errors and panics; nil logs nothing.
	Logger *slog.Logger
	// JSONType is the Content-Type of JSON. Default "application/json".
	JSONType string
	// MaxBody bounds the bodies of routes without a MaxBody. Default 64 KiB.
	MaxBody int64
	// WriteTimeout is how long a client may take to read an answer if the handler isn't
	// bounded by the server's deadline; see Route.Timeout and Call.Within. Default 30 s.
	WriteTimeout time.Duration
	// RetryAfter is what 429 and 503 advise, in seconds. Default 1.
	RetryAfter int
}

// Router serves an API.
type Router struct {
	opts Options
	log  *slog.Logger
	root node
}

// New mounts services. It panics if two routes are the same, if a pattern is invalid, if
// there is a Guard but a route lacks its Effect, or if a route has a Scope but there is no
// Guard.
func New(opts Options, services ...Service) *Router {
	opts.Name = cmp.Or(opts.Name, "server")
	opts.JSONType = cmp.Or(opts.JSONType, "application/json")
	opts.MaxBody = cmp.Or(opts.MaxBody, 64<<10)
	opts.WriteTimeout = cmp.Or(opts.WriteTimeout, 30*time.Second)
	opts.RetryAfter = cmp.Or(opts.RetryAfter, 1)
	if opts.Admit == nil {
		opts.Admit = func(r *http.Request) (context.Context, error) { return r.Context(), nil }
	}
	if opts.Classify == nil {
		opts.Classify = func(*Call, error) *problem.Error { return nil }
	}
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	rt := &Router{opts: opts, log: opts.Logger}
	for _, service := range services {
		for i := range service.Routes {
			route := &service.Routes[i]
			if opts.Guard == nil && route.Scope != "" || opts.Guard != nil && route.Effect == 0 && route.Method != http.MethodGet {
				panic("httpapi: nobody guards this route, or it doesn't say its effect: " + route.Method + " " + route.Pattern)
			}
			rt.root.add(route)
		}
	}
	return rt
}

// ServeDocument answers with Options.Document.
func ServeDocument(c *Call) error {
	c.Send(http.StatusOK, c.router.opts.JSONType, c.router.opts.Document)
	return nil
}

// ErrNoRoute says that no route has the path of a request.
var ErrNoRoute = errors.New("no such route")

// ServeHTTP implements http.Handler.
func (rt *Router) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	c := &Call{Request: r, router: rt, w: answerWriter{ResponseWriter: w}}
	if rt.opts.Observe != nil {
		defer func() { rt.opts.Observe(r, c.w.code, time.Since(start)) }()
	}
	defer func() {
		for _, f := range c.done {
			f(c.w.code)
		}
	}()
	defer func() {
		if p := recover(); p != nil {
			rt.survive(c, p)
		}
	}()
	Secure(w.Header())
	err := rt.serve(c)
	switch {
	case c.socket != nil:
		rt.closeSocket(c, err)
	case err != nil:
		rt.refuse(c, err)
	}
}

// serve admits, routes and answers a call.
func (rt *Router) serve(c *Call) error {
	ctx, err := rt.opts.Admit(c.Request)
	if err != nil {
		return err
	}
	c.Request = c.WithContext(ctx)
	path, values := rt.root.match(c.URL.EscapedPath(), nil)
	if path == nil {
		return ErrNoRoute
	}
	method := c.Method
	if method == http.MethodHead && path.methods[method] == nil {
		method = http.MethodGet // net/http drops the body
	}
	if c.route = path.methods[method]; c.route == nil {
		c.w.Header().Set("Allow", path.allow)
		return &problem.Error{Code: http.StatusMethodNotAllowed, Message: "method not allowed", Detail: path.template + " knows " + path.allow}
	}
	for i, name := range path.names {
		c.SetPathValue(name, values[i])
	}
	c.limit = cmp.Or(c.route.MaxBody, rt.opts.MaxBody)
	if c.ContentLength != 0 {
		c.Body = http.MaxBytesReader(&c.w, c.Body, c.limit)
	}
	if rt.opts.Guard != nil {
		if err := rt.opts.Guard(c, c.route); err != nil {
			return err
		}
	}
	if c.route.BodyTimeout > 0 {
		// Without a connection, as in tests, there is no deadline.
		_ = http.NewResponseController(&c.w).SetReadDeadline(time.Now().Add(c.route.BodyTimeout))
	}
	if c.route.Timeout == 0 {
		return c.route.Handle(c)
	}
	return c.Within(c.route.Timeout, func(ctx context.Context) error {
		whole := c.Request
		defer func() { c.Request = whole }()
		c.Request = whole.WithContext(ctx)
		return c.route.Handle(c)
	})
}

// refuse answers with an error.
func (rt *Router) refuse(c *Call, err error) {
	if c.w.code != 0 {
		rt.log.Debug("answer cut off", slog.String("path", c.URL.Path), slog.Any("error", err))
		panic(http.ErrAbortHandler)
	}
	e := rt.problem(c, err)
	header := c.w.Header()
	header.Del("ETag")
	switch e.Code {
	case http.StatusUnauthorized:
		header.Set("WWW-Authenticate", `Bearer realm="waymark"`)
	case http.StatusServiceUnavailable:
		header.Set("Connection", "close")
		fallthrough
	case http.StatusTooManyRequests:
		seconds := int((e.RetryAfter + time.Second - 1) / time.Second)
		header.Set("Retry-After", strconv.Itoa(cmp.Or(seconds, rt.opts.RetryAfter)))
	}
	_ = c.JSON(e.Code, e) // two strings can always be encoded
}

// problem returns the answer for an error.
func (rt *Router) problem(c *Call, err error) *problem.Error {
	var ready *problem.Error
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &ready) && ready.Code >= 400 && ready.Code <= 599:
		return ready
	case errors.As(err, &large):
		return tooLarge(large.Limit)
	}
	e := rt.opts.Classify(c, err)
	switch {
	case e != nil:
	case errors.Is(err, ErrNoRoute):
		return &problem.Error{Code: http.StatusNotFound, Message: err.Error(), Detail: c.Method + " " + c.URL.Path}
	default:
		e = rt.internal()
	}
	if e.Code == http.StatusInternalServerError {
		level := slog.LevelError
		if c.Context().Err() != nil && errors.Is(err, context.Canceled) {
			level = slog.LevelDebug // the client has gone, and nothing is wrong here
		}
		rt.log.Log(context.WithoutCancel(c.Context()), level, "request failed", slog.String("method", c.Method), slog.String("path", c.URL.Path), slog.Any("error", err))
	}
	return e
}

func (rt *Router) internal() *problem.Error {
	return &problem.Error{Code: http.StatusInternalServerError, Message: "internal error", Detail: "see the " + rt.opts.Name + "'s log"}
}

// survive answers for a handler that panicked.
func (rt *Router) survive(c *Call, p any) {
	if c.socket != nil {
		_ = c.socket.CloseNow()
	}
	if p == http.ErrAbortHandler { //nolint:errorlint,err113 // it is compared so by net/http, too
		panic(p)
	}
	rt.log.Error("request panicked", slog.String("method", c.Method), slog.String("path", c.URL.Path),
		slog.String("panic", fmt.Sprint(p)), slog.String("stack", string(debug.Stack())))
	if c.w.code != 0 {
		panic(http.ErrAbortHandler)
	}
	rt.refuse(c, rt.internal())
}

// Secure sets the headers of every answer, unless its handler sets others. Answers are data
// only: payloads are text that a workspace chose.
func Secure(header http.Header) {
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; sandbox")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cache-Control", "no-store")
}

// answerWriter is the ResponseWriter of a call.
type answerWriter struct {
	http.ResponseWriter
	code int // the status; 0 until the answer has begun
	// timeout is how long the client may take to read the answer from its beginning; 0 keeps
	// the server's deadline.
	timeout time.Duration
}

// WriteHeader implements http.ResponseWriter.
func (w *answerWriter) WriteHeader(code int) {
	if w.code == 0 && (code >= 200 || code == http.StatusSwitchingProtocols) {
		w.code = code
		if w.timeout > 0 {
			w.setDeadline(time.Now().Add(w.timeout))
		}
	}
	w.ResponseWriter.WriteHeader(code)
}

// Write implements io.Writer.
func (w *answerWriter) Write(p []byte) (int, error) {
	if w.code == 0 {
		w.WriteHeader(http.StatusOK)
	}
	return w.ResponseWriter.Write(p)
}

// Unwrap is for http.ResponseController.
func (w *answerWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// setDeadline sets the write deadline of the connection; zero means none. Without a
// connection, as in tests, it does nothing.
func (w *answerWriter) setDeadline(t time.Time) {
	_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(t)
}
