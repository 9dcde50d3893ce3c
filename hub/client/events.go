package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/url"
	"time"

	"waymark/hub/api"
	"waymark/internal/httpapi/apiclient"
)

func (h *hub) Events(ctx context.Context, opts EventOptions) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		ctx, end := context.WithCancel(ctx)
		defer end()
		f := follower{hub: h, opts: opts, end: end, at: cmp.Or(opts.After, "0"), newest: make(map[string]int64)}
		apiclient.Follow(ctx, h.opts.Retry, f.connect)(yield)
	}
}

// follower is the state of an Events.
type follower struct {
	hub  *hub
	opts EventOptions
	end  context.CancelFunc
	// at is the cursor after which to resume; Now while it is unknown.
	at string
	// newest are the revisions of the agents' newest context events so far.
	newest map[string]int64
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
	r.Query = url.Values{"after": {f.at}}
	if f.opts.Once {
		r.Query.Set("follow", "0")
	}
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
		if raw.Type == api.EventEnd {
			f.end()
			return false
		}
		return !fresh || c.Yield(event)
	})
	if broken != nil || err == nil {
		return broken
	}
	return f.hub.api.Unreachable(silent, err)
}

var errSilent = errors.New("it has been silent for too long")

// locate determines the cursor of "now", so that nothing is missed if the first connection
// breaks.
func (f *follower) locate(ctx context.Context) error {
	if f.at != Now {
		return nil
	}
	page, err := f.hub.FindAgents(ctx, AgentQuery{Limit: 1})
	if err == nil {
		f.at = page.Events
	}
	return err
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
	at := cmp.Or(raw.ID, f.at)
	e = Event{Type: raw.Type, Cursor: at}
	fresh = true
	switch raw.Type {
	case api.EventContext:
		e.Context = new(api.ContextEvent)
		err = json.Unmarshal([]byte(raw.Data), e.Context)
		if fresh = e.Context.Revision > f.newest[e.Context.AgentID]; fresh && err == nil {
			f.newest[e.Context.AgentID] = e.Context.Revision
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
		if err == nil { // the database may have been set back
			clear(f.newest)
		}
	default:
		fresh = false
	}
	if err != nil {
		return Event{}, false, fmt.Errorf("the hub's %s event can't be read: %w", raw.Type, err)
	}
	f.at = at
	return e, fresh, nil
}
