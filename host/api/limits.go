package api

import (
	"context"
	"net/http"
	"time"
)

// within lets do work for as long as d, and gives the client time to read the
// answer after that: by itself net/http gives it once, for both.
func (h *handler) within(w http.ResponseWriter, r *http.Request, d time.Duration, do func(context.Context) error) error {
	rc := http.NewResponseController(w)
	// There is no deadline where there is no connection, as in tests. A deadline
	// that has passed may not be changed any more, so it is set before, too.
	_ = rc.SetWriteDeadline(time.Now().Add(d + h.opts.WriteTimeout))
	defer func() { _ = rc.SetWriteDeadline(time.Now().Add(h.opts.WriteTimeout)) }()
	ctx, cancel := context.WithTimeout(r.Context(), d)
	defer cancel()
	return do(ctx)
}

// waiting is within for requests that may do nothing but wait, of which there
// are at most Options.MaxWaits.
func (h *handler) waiting(w http.ResponseWriter, r *http.Request, d time.Duration, do func(context.Context) error) error {
	select {
	case h.waits <- struct{}{}:
		defer func() { <-h.waits }()
		return h.within(w, r, d, do)
	default:
		return &Error{Code: http.StatusTooManyRequests, Message: "too many requests wait already",
			Detail: "end some of them, or ask without ?wait="}
	}
}
