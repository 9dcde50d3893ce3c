package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/url"
	"strconv"
	"strings"
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
	err = readFrames(body, func(raw frame) bool {
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

var errEventTooLarge = errors.New("the hub sends an event that is too large")

// frame is one event as it is sent.
type frame struct{ event, id, data string }

// readFrames calls handle with each complete event of r until r ends or handle
// says false. An event whose end is missing is none, as the standard has it:
// the last lines before a cut would otherwise be taken for a position that was
// never sent. (That is why no library is used: what there is hands them out.)
func readFrames(r io.Reader, handle func(frame) bool) error {
	scanner := bufio.NewScanner(r)
	scanner.Buffer(nil, maxEvent)
	var f frame
	var data []string
	size := 0
	for scanner.Scan() {
		line := strings.TrimSuffix(scanner.Text(), "\r")
		if size += len(line); size > maxEvent {
			return errEventTooLarge
		}
		if line == "" {
			f.data = strings.Join(data, "\n")
			if len(data) > 0 && !handle(f) {
				return nil
			}
			f, data, size = frame{}, nil, 0
			continue
		}
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch name { // a comment's is empty
		case "event":
			f.event = value
		case "id":
			f.id = value
		case "data":
			data = append(data, value)
		}
	}
	if err := scanner.Err(); err != nil {
		if errors.Is(err, bufio.ErrTooLong) {
			err = errEventTooLarge
		}
		return err
	}
	return io.ErrUnexpectedEOF // a hub's stream has no end
}

// take makes an event of a frame, moves on to its position, and reports
// whether it is one that hasn't been yielded yet. Types that this client
// doesn't know are skipped: a newer hub may have more.
func (f *follower) take(raw frame) (e Event, fresh bool, err error) {
	at := f.at
	if raw.id != "" {
		if at, err = strconv.ParseInt(raw.id, 10, 64); err != nil || at < 0 {
			return Event{}, false, fmt.Errorf("the hub sends an event with the id %.40q, which is no revision", raw.id)
		}
	}
	e = Event{Type: raw.event, Revision: at}
	fresh = true
	switch raw.event {
	case api.EventContext:
		e.Context = new(api.ContextEvent)
		err = json.Unmarshal([]byte(raw.data), e.Context)
		if fresh = e.Context.Revision > f.newest; fresh && err == nil {
			f.newest = e.Context.Revision
		}
	case api.EventPin:
		e.Pin = new(api.Pin)
		err = json.Unmarshal([]byte(raw.data), e.Pin)
	case api.EventAgent:
		e.Agent = new(api.Agent)
		err = json.Unmarshal([]byte(raw.data), e.Agent)
	case api.EventReset:
		e.Reset = new(api.ResetEvent)
		err = json.Unmarshal([]byte(raw.data), e.Reset)
		if err == nil { // the only way back
			f.at, f.newest = at, min(f.newest, at)
		}
	default:
		fresh = false
	}
	if err != nil {
		return Event{}, false, fmt.Errorf("the hub's %s event can't be read: %w", raw.event, err)
	}
	f.at = max(f.at, at)
	return e, fresh, nil
}
