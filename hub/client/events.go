package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/url"
	"strconv"
	"time"

	"waymark/hub/api"
	"waymark/internal/httpapi/apiclient"
)

func (h *hub) Events(ctx context.Context, opts EventOptions) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		f := follower{hub: h, opts: opts, at: opts.After, newest: opts.After}
		apiclient.Follow(ctx, h.opts.Retry, f.connect)(yield)
	}
}

// follower is where one Events stands.
type follower struct {
	hub  *hub
	opts EventOptions
	// at is the revision after which to resume, below 0 while it isn't known.
	at int64
	// newest is the newest revision of a context event that was yielded.
	newest int64
}

// connect yields what one connection brings, until it is lost.
func (f *follower) connect(ctx context.Context, c *apiclient.Connection[Event]) error {
	if err := f.locate(ctx); err != nil {
		return err
	}
	// The stream is given up when it has been silent for too long: a dead line
	// doesn't say so.
	silent, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watchdog := time.AfterFunc(f.hub.opts.Silence, func() { cancel(errSilent) })
	defer watchdog.Stop()

	r := apiclient.Get("/events")
	r.Query = url.Values{"after": {strconv.FormatInt(f.at, 10)}}
	for name, value := range map[string]string{"agent_id": f.opts.AgentID, "pin_id": f.opts.PinID} {
		if value != "" {
			r.Query.Set(name, value)
		}
	}
	resp, err := f.hub.api.Open(silent, r)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	c.Open()
	body := &watched{resp.Body, func() { watchdog.Reset(f.hub.opts.Silence) }}
	var broken error
	err = apiclient.ReadEvents(body, maxEvent, func(raw apiclient.Event) bool {
		event, fresh, err := f.take(raw)
		if err != nil {
			broken = err
			return false
		}
		c.Progress()
		return !fresh || c.Yield(event)
	})
	if broken != nil || err == nil {
		return broken
	}
	return f.hub.api.Unreachable(silent, err)
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
	f.newest = f.at
	return nil
}

// watched calls read after each read that brought something.
type watched struct {
	from io.Reader
	read func()
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.from.Read(p)
	if n > 0 {
		w.read()
	}
	return n, err
}

// maxEvent bounds one event and each of its lines: a hundred ids of 2304 bytes,
// escaped, come to less.
const maxEvent = 4 << 20

// take makes an event of a frame, moves on to its position, and reports
// whether it is one that hasn't been yielded yet. Types that this client
// doesn't know are skipped: a newer hub may have more.
func (f *follower) take(raw apiclient.Event) (e Event, fresh bool, err error) {
	at := f.at
	if raw.ID != "" {
		if at, err = strconv.ParseInt(raw.ID, 10, 64); err != nil || at < 0 {
			return Event{}, false, fmt.Errorf("the hub sends an event with the id %.40q, which is no revision", raw.ID)
		}
	}
	e = Event{Type: raw.Type, Revision: at}
	fresh = true
	switch raw.Type {
	case api.EventContext:
		e.Context = new(api.ContextEvent)
		err = json.Unmarshal([]byte(raw.Data), e.Context)
		if fresh = e.Context.Revision > f.newest; fresh && err == nil {
			f.newest = e.Context.Revision
		}
	case api.EventPin:
		e.Pin = new(api.Pin)
		err = json.Unmarshal([]byte(raw.Data), e.Pin)
	case api.EventAgent:
		e.Agent = new(api.Agent)
		err = json.Unmarshal([]byte(raw.Data), e.Agent)
	case api.EventReset:
		e.Reset = new(api.ResetEvent)
		err = json.Unmarshal([]byte(raw.Data), e.Reset)
		if err == nil { // the only way back
			f.at, f.newest = at, min(f.newest, at)
		}
	default:
		fresh = false
	}
	if err != nil {
		return Event{}, false, fmt.Errorf("the hub's %s event can't be read: %w", raw.Type, err)
	}
	f.at = max(f.at, at)
	return e, fresh, nil
}
