package api

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"
)

// handler is the API of one Backend.
type handler struct {
	opts  Options
	log   *slog.Logger
	table []route
	guard guard
	// instance tells this life of the agent from others, in ETags: versions
	// begin anew with each.
	instance string
	// waits holds a token for each request that waits.
	waits   chan struct{}
	encoded encoded
}

// Handler serves the API. See the package comment for who may use it.
func Handler(opts Options) http.Handler {
	opts.setDefaults()
	h := &handler{
		opts: opts, log: opts.Logger, guard: newGuard(&opts),
		instance: newInstance(), waits: make(chan struct{}, opts.MaxWaits),
	}
	h.table = h.routes()
	return h
}

func newInstance() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	seen := &seenWriter{ResponseWriter: w}
	defer func() {
		if p := recover(); p != nil {
			h.survive(seen, r, p)
		}
		h.log.Debug("request", slog.String("method", r.Method), slog.String("path", r.URL.Path),
			slog.Int("status", seen.code), slog.Duration("took", time.Since(start)))
	}()
	secure(seen.Header())
	if err := h.admit(r); err != nil {
		if err.Code == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", `Bearer realm="waymark"`)
		}
		fail(seen, err)
		return
	}
	h.dispatch(seen, r)
}

// admit decides whether a request is looked at.
func (h *handler) admit(r *http.Request) *Error {
	if errors.Is(context.Cause(r.Context()), ErrStopping) {
		return &Error{Code: http.StatusServiceUnavailable, Message: ErrStopping.Error()}
	}
	return h.guard.check(r)
}

// survive answers for a handler that panicked. An answer that had begun is cut,
// so that nobody takes it for whole.
func (h *handler) survive(w *seenWriter, r *http.Request, p any) {
	if p == http.ErrAbortHandler { //nolint:errorlint,err113 // it is compared so by net/http, too
		panic(p)
	}
	h.log.Error("request handler panicked", slog.String("method", r.Method), slog.String("path", r.URL.Path),
		slog.String("panic", fmt.Sprint(p)), slog.String("stack", string(debug.Stack())))
	if w.code != 0 {
		panic(http.ErrAbortHandler)
	}
	fail(w, &Error{Code: http.StatusInternalServerError, Message: "internal error", Detail: "see the agent's log"})
}

// secure sets what every answer has. Nothing here is meant to be shown as
// anything but data: payloads are text that a workspace chose.
func secure(header http.Header) {
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; sandbox")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cache-Control", "no-store")
}

// seenWriter remembers the status.
type seenWriter struct {
	http.ResponseWriter
	code int // 0 until the header is written
}

func (w *seenWriter) WriteHeader(code int) {
	if w.code == 0 {
		w.code = code
	}
	w.ResponseWriter.WriteHeader(code)
}

func (w *seenWriter) Write(p []byte) (int, error) {
	if w.code == 0 {
		w.code = http.StatusOK
	}
	return w.ResponseWriter.Write(p)
}

// Unwrap is for http.ResponseController.
func (w *seenWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
