package hub

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"
)

const (
	// readyFor is how long an answer of the store is good for: whoever asks
	// again and again doesn't ask the database as often.
	readyFor = time.Second
	// readyTimeout is how long the store may take to answer.
	readyTimeout = 3 * time.Second
)

// errDraining says that the hub is about to stop.
var errDraining = errors.New("stopping")

// readiness answers whether the hub can do its work now.
type readiness struct {
	hub *Hub

	mu  sync.Mutex // one question at a time; guards the rest
	at  time.Time
	err error
}

// check returns nil when the store answers and the hub isn't about to stop.
func (r *readiness) check(ctx context.Context) error {
	if r.hub.drain.begun() {
		return errDraining
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.at.IsZero() && time.Since(r.at) < readyFor {
		return r.err
	}
	// Not the caller's context: the answer is for the others, too.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyTimeout)
	defer cancel()
	_, r.err = r.hub.store.ValidTokens(ctx, []string{"none"}) // the cheapest of its questions
	r.at = time.Now()
	return r.err
}

// ServeHTTP answers GET /readyz, for those who send traffic here or don't. It
// tells strangers no more than the status line.
func (r *readiness) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	text := "ready\n"
	switch err := r.check(request.Context()); {
	case errors.Is(err, errDraining):
		w.WriteHeader(http.StatusServiceUnavailable)
		text = "stopping\n"
	case err != nil:
		w.WriteHeader(http.StatusServiceUnavailable)
		text = "the store doesn't answer\n"
	}
	_, _ = w.Write([]byte(text))
}
