package api

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"syscall"

	"waymark/host/sources"
)

// refuse answers with an error.
func (h *handler) refuse(w http.ResponseWriter, r *http.Request, failed string, err error) {
	e := classify(r, failed, err)
	if e.Code == http.StatusTooManyRequests || e.Code == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	if e.Code == http.StatusInternalServerError {
		h.log.Error(failed, slog.String("path", r.URL.Path), slog.Any("error", err))
	}
	fail(w, e)
}

// classify finds the answer for an error of the Backend.
func classify(r *http.Request, failed string, err error) *Error {
	var ready *Error
	if errors.As(err, &ready) && ready.Code >= 400 && ready.Code <= 599 {
		return ready
	}
	e := &Error{Message: failed, Detail: err.Error()}
	is := func(targets ...error) bool {
		for _, target := range targets {
			if errors.Is(err, target) {
				return true
			}
		}
		return false
	}
	switch {
	case is(ErrStopping), errors.Is(context.Cause(r.Context()), ErrStopping):
		e.Code, e.Detail = http.StatusServiceUnavailable, ErrStopping.Error()
	case is(context.DeadlineExceeded), r.Context().Err() != nil:
		e.Code, e.Detail = http.StatusGatewayTimeout, "it took longer than the caller waits"
	case is(context.Canceled): // by whom, if not by the client
		e.Code, e.Detail = http.StatusServiceUnavailable, ErrStopping.Error()
	case is(sources.ErrNotFound):
		e.Code = http.StatusNotFound
	case is(sources.ErrInvalid, sources.ErrRelative, sources.ErrNotAllowed, sources.ErrTooMany):
		e.Code = http.StatusBadRequest
	case namesPath(r) && is(fs.ErrNotExist, fs.ErrPermission, syscall.ENOTDIR, syscall.ELOOP, syscall.ENAMETOOLONG):
		e.Code = http.StatusBadRequest
	default:
		e.Code = http.StatusInternalServerError
	}
	return e
}

// namesPath tells of a request whose body names a path. What the system says
// about one is the caller's mistake there, and the agent's anywhere else.
func namesPath(r *http.Request) bool {
	return r.Method == http.MethodPut || r.Method == http.MethodPost && r.URL.Path == sourcesPath
}
