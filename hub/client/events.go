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

// follower is the state of an Events.
type follower struct {
	hub  *hub
	opts EventOptions
	// at is the revision after which to resume; negative while it is unknown.
	at int64
	// newest is the revision of the newest context event so far.
	newest int64
}

// connect yields the events of a connection until that is lost.
func (f *follower) connect(ctx context.Context, c *apiclient.Connection[Event]) error {
	if err := f.locate(ctx); err != nil {
		return err
	}
	// Give up a stream that is silent for too long, because a dead connection isn't
	// reported.
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

// locate determines the revision of "now", so that nothing is missed if the first
// connection breaks.
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

// watched calls read after each read with data.
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

// maxEvent limits an event and each of its lines, in bytes. A hundred escaped ids of 2304
// bytes are shorter.
const maxEvent = 4 << 20

// take converts a frame into an event, advances the position, and reports whether the event
// is new. It skips unknown types, which a newer hub may send.
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
		if err == nil { // only a reset may go back
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
