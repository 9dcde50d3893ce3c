package client

import (
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// follower is where one Events stands.
type follower struct {
	hub  *hub
	opts EventOptions
	// at is the revision after which to resume, below 0 while it isn't known.
	at int64
	// shown is the newest revision of a context event that was yielded.
	shown int64

	reached bool // somebody has answered
	lost    bool // and doesn't any more, which has been said
	pause   time.Duration
}

func (h *hub) Events(ctx context.Context, opts EventOptions) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		f := follower{hub: h, opts: opts, at: opts.After, shown: opts.After}
		for ctx.Err() == nil {
			more := true
			err := f.connection(ctx, func(e Event) bool {
				more = yield(e, nil)
				return more
			})
			if ctx.Err() != nil || !more || !f.step(ctx, err, yield) {
				return
			}
		}
	}
}

// connection yields what one connection brings, until it is lost.
func (f *follower) connection(ctx context.Context, yield func(Event) bool) error {
	if f.hub.err != nil {
		return f.hub.err
	}
	if err := f.locate(ctx); err != nil {
		return err
	}
	// The stream is given up when it has been silent for too long: a dead line
	// doesn't say so.
	silent, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watchdog := time.AfterFunc(f.hub.opts.Silence, func() { cancel(errSilent) })
	defer watchdog.Stop()

	query := url.Values{"after": {strconv.FormatInt(f.at, 10)}}
	for name, value := range map[string]string{"agent_id": f.opts.AgentID, "pin_id": f.opts.PinID} {
		if value != "" {
			query.Set(name, value)
		}
	}
	resp, err := f.hub.send(silent, call{method: http.MethodGet, path: "/events", query: query})
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	f.reached, f.lost = true, false
	body := &awake{resp.Body, func() { watchdog.Reset(f.hub.opts.Silence) }}
	var broken error
	err = readFrames(body, func(raw frame) bool {
		event, fresh, err := f.take(raw)
		if err != nil {
			broken = err
			return false
		}
		f.pause = 0
		return !fresh || yield(event)
	})
	if broken != nil {
		return broken
	}
	if err != nil {
		return f.hub.unreachable(silent, err)
	}
	return nil
}

var errSilent = errors.New("it has been silent for too long")

// locate finds out where "now" is, so that nothing is missed should the very
// first connection break.
func (f *follower) locate(ctx context.Context) error {
	if f.at >= 0 {
		return nil
	}
	agents, err := f.hub.Agents(ctx)
	if err != nil {
		return err
	}
	f.at = 0
	for i := range agents {
		f.at = max(f.at, agents[i].Revision)
	}
	f.shown = f.at
	return nil
}

// step decides what follows after a connection, and reports whether to go on.
func (f *follower) step(ctx context.Context, err error, yield func(Event, error) bool) bool {
	code := statusOf(err)
	f.reached = f.reached || code != 0
	if !f.reached || isFinal(code) {
		yield(Event{}, err)
		return false
	}
	if !f.lost && !yield(Event{}, err) {
		return false
	}
	f.lost = true
	f.rest(ctx)
	return true
}

// rest pauses, longer with each failure.
func (f *follower) rest(ctx context.Context) {
	longest := f.hub.opts.Retry
	f.pause = min(max(2*f.pause, longest/16), longest)
	timer := time.NewTimer(f.pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// awake tells of each read that brought something.
type awake struct {
	from io.Reader
	tell func()
}

func (a *awake) Read(p []byte) (int, error) {
	n, err := a.from.Read(p)
	if n > 0 {
		a.tell()
	}
	return n, err
}
