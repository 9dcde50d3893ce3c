package server

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"waymark/hub/api"
	"waymark/hub/store"
	"waymark/internal/httpapi"
	"waymark/internal/httpapi/problem"
)

// farewell limits how long ending a revoked token's stream may take.
const farewell = time.Second

// follow serves a stream of events.
func (a *API) follow(c *call) error {
	s, err := a.newStream(c)
	if err != nil {
		return err
	}
	if c.Method == http.MethodHead {
		s.header()
		return nil
	}
	ctx, leave, err := a.sessions.enter(c.Context(), &c.reader)
	if err != nil {
		return err
	}
	defer leave()
	c.Stream()
	defer context.AfterFunc(ctx, func() {
		// A client that doesn't read has no more time than this.
		if errors.Is(context.Cause(ctx), errRevoked) {
			_ = http.NewResponseController(c.Writer()).SetWriteDeadline(time.Now().Add(farewell))
		}
	})()
	if s.at, err = a.feed.now(ctx); err != nil {
		return err
	}
	if s.moves, s.moved, err = a.presence.now(ctx); err != nil {
		return err
	}
	s.header()
	// From here on an error can't be answered any more, so the stream ends.
	if s.begin(ctx) == nil {
		for ctx.Err() == nil && s.step(ctx) == nil {
			continue
		}
	}
	return nil
}

// FollowPin calls changed after events of a pin, for the reader of the call in ctx, until
// ctx ends, the reader may not see it any more, or the pin is deleted. One call may stand
// for several events. It counts as a stream.
//
// # Errors
//
// Those of begin, which is called first, and of changed; *problem.Error if there are too
// many streams.
func (a *API) FollowPin(ctx context.Context, id string, begin func() error, changed func(*store.Pin) error) error {
	reader := ReaderOf(ctx)
	ctx, leave, err := a.sessions.enter(ctx, &reader)
	if err != nil {
		return err
	}
	defer leave()
	at, err := a.feed.now(ctx)
	if err == nil {
		err = begin()
	}
	for err == nil {
		events, next, complete := a.feed.since(at)
		news := !complete || slices.ContainsFunc(events, func(e *event) bool {
			return e.Pin != nil && e.Pin.ID == id || e.Deleted != nil && e.Deleted.ID == id
		})
		at = next
		if news {
			pin, err := PinsOf(ctx, a.store).Pin(ctx, id)
			if err != nil {
				return nil // the pin is gone, or ctx has ended
			}
			if err = changed(&pin); err != nil {
				return err
			}
		}
		select {
		case <-at.moved:
		case <-ctx.Done():
			return nil
		}
	}
	return err
}

// filter selects the events of a stream.
type filter struct {
	agentID, pinID string
	// token is the reader's. Events out of its scope don't match.
	token *store.Token
}

// wants reports whether an event matches. With a pin, only events of that pin do.
func (f *filter) wants(e *store.Event) bool {
	pin := cmp.Or(e.Pin, e.Deleted)
	agentID := e.RemovedAgent
	switch {
	case pin != nil:
		agentID = pin.AgentID
	case e.Change != nil:
		agentID = e.Change.AgentID
	}
	if f.pinID != "" && (pin == nil || pin.ID != f.pinID) {
		return false
	}
	return f.wantsAgent(agentID)
}

// wantsAgent reports whether the stream includes the agent.
func (f *filter) wantsAgent(id string) bool {
	return (f.agentID == "" || f.agentID == id) && f.token.Allows(id)
}

// stream is a stream to a reader.
type stream struct {
	api    *API
	call   *call
	out    frames
	filter filter
	// cursor is that up to which everything was sent. known says that the reader had one.
	cursor store.Cursor
	known  bool
	// once says that the stream ends when there is no more.
	once bool
	// had are events that the reader has, though they are new for the feed: another hub may
	// have been ahead of this one.
	had store.Cursor
	// at is the feed's position. joined says that everything up to it was sent; before,
	// cursor says what was.
	at     position
	joined bool
	// moves is the number of moves of agents that the reader knows. moved is closed when there
	// is another.
	moves int
	moved <-chan struct{}
}

func (a *API) newStream(c *call) (*stream, error) {
	s := &stream{api: a, call: c, filter: filter{token: &c.reader.Token}}
	var err error
	if s.filter.agentID, err = c.Text("agent_id"); err != nil {
		return nil, err
	}
	if s.filter.pinID, err = c.Text("pin_id"); err != nil {
		return nil, err
	}
	after, err := c.Text("after")
	if err != nil {
		return nil, err
	}
	if s.known = after != ""; s.known {
		if s.cursor, err = store.ParseCursor(after); err != nil {
			return nil, httpapi.BadQuery(err.Error())
		}
	}
	follow, err := c.Word("follow", "0", "1")
	if err != nil {
		return nil, err
	}
	s.once = follow == "0"
	// Last-Event-ID, which a browser updates, is newer than the URL.
	if id := c.Header.Get("Last-Event-ID"); id != "" {
		if s.cursor, err = store.ParseCursor(id); err != nil {
			return nil, &problem.Error{Code: http.StatusBadRequest, Message: "the request is not what it should be", Detail: "Last-Event-ID is not the id of an event"}
		}
		s.known = true
	}
	return s, nil
}

func (s *stream) header() {
	w := s.call.Writer()
	header := w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("X-Accel-Buffering", "no") // otherwise nginx would buffer the events
	w.WriteHeader(http.StatusOK)
}

// begin sends the first events.
func (s *stream) begin(ctx context.Context) error {
	s.out.retry(time.Second)
	if s.known {
		s.out.sent = s.cursor.String()
		if !s.once {
			if err := s.sendMoves(ctx); err != nil {
				return err
			}
		}
		if s.cursor.IsZero() || s.cursor.Epoch == s.at.through.Epoch && s.cursor.Compare(s.at.through) <= 0 {
			return s.flush()
		}
		// Another hub may be ahead of this one's feed. If the database doesn't answer,
		// the reader waits.
		if page, err := s.api.store.Events(ctx, s.cursor, 1); err == nil && page.Lost {
			return s.reset(page.Through)
		}
		return s.flush()
	}
	s.cursor, s.joined = s.at.through, true
	if err := s.sendAgents(ctx); err != nil {
		return err
	}
	s.out.position(s.cursor)
	return s.flush()
}

// step sends what is available, or waits.
func (s *stream) step(ctx context.Context) error {
	if !s.joined {
		return s.join(ctx)
	}
	events, at, complete := s.api.feed.since(s.at)
	switch {
	case at.epoch != s.at.epoch:
		s.at = at
		return s.reset(at.through)
	case !complete: // a slow reader
		s.joined = false
		return nil
	case at.count == s.at.count && at.through.Compare(s.at.through) == 0:
		s.at = at
		return s.idle(ctx)
	}
	s.at = at
	s.send(events, at.through, len(events) > pageSize)
	s.forward(at.through)
	return s.flush()
}

// forward moves the reader's cursor on.
func (s *stream) forward(to store.Cursor) {
	if s.cursor.IsZero() || s.cursor.Compare(to) < 0 {
		s.cursor = to
	}
}

// join sends what a reader has missed: from the cache or, a page after the other, from the
// store.
func (s *stream) join(ctx context.Context) error {
	events, at, complete := s.api.feed.above(s.cursor)
	if complete {
		s.at, s.joined, s.had = at, true, s.cursor
		s.send(events, at.through, len(events) > pageSize)
		s.forward(at.through)
		return s.flush()
	}
	page, err := s.api.store.Events(ctx, s.cursor, pageSize)
	switch {
	case err != nil:
		return err
	case page.Lost:
		s.at, s.joined = at, true
		return s.reset(page.Through)
	}
	// What isn't settled comes from the cache.
	settled := slices.DeleteFunc(page.List, func(e store.Event) bool { return e.At.Compare(page.Through) > 0 })
	s.send(newEvents(settled), page.Through, !page.Last)
	s.cursor = page.Through
	if err := s.flush(); err != nil || !page.Last {
		return err
	}
	if _, _, complete := s.api.feed.above(s.cursor); complete {
		return nil
	}
	s.at = at
	return s.idle(ctx) // until more is settled
}

// errEnd ends a stream that isn't to follow.
var errEnd = errors.New("there is no more")

// idle waits for something to send.
func (s *stream) idle(ctx context.Context) error {
	if s.once {
		s.out.event(api.EventEnd, s.cursor.String(), struct{}{})
		return errors.Join(s.flush(), errEnd)
	}
	timer := time.NewTimer(s.api.limits.Heartbeat)
	defer timer.Stop()
	select {
	case <-s.at.moved:
		return nil
	case <-s.moved:
		var moves []*move
		var complete bool
		if moves, s.moves, s.moved, complete = s.api.presence.since(s.moves); !complete {
			if err := s.sendAgents(ctx); err != nil {
				return err
			}
		}
		for _, m := range moves {
			s.sendAgent(m.id, m.data)
		}
	case <-timer.C:
		s.out.heartbeat(s.cursor)
	case <-ctx.Done():
		return ctx.Err()
	}
	return s.flush()
}

// reset tells the reader to start again, and continues from newest.
func (s *stream) reset(newest store.Cursor) error {
	s.cursor, s.had = newest, store.Cursor{}
	s.out.event(api.EventReset, newest.String(), api.ResetEvent{Reason: "what came then isn't kept any more, or the history was set back"})
	return s.flush()
}

// send adds events, with which the reader has everything up to a cursor. If there are too
// many, it adds only the newest of each agent and pin.
func (s *stream) send(events []*event, through store.Cursor, tooMuch bool) {
	list := make([]*event, 0, len(events))
	for _, e := range events {
		if s.filter.wants(&e.Event) && (s.had.IsZero() || e.At.Compare(s.had) > 0) {
			list = append(list, e)
		}
	}
	if tooMuch {
		list = coalesce(list)
	}
	// An event has an id if nothing below it is still to come: neither in this list nor
	// because its transaction isn't at its end.
	ids := make([]string, len(list))
	least := through
	for i := len(list) - 1; i >= 0; i-- {
		if at := list[i].At; at.Compare(least) <= 0 {
			if least = at; !tooMuch || i == len(list)-1 {
				ids[i] = at.String()
			}
		}
	}
	for i, e := range list {
		name, data := e.encoded()
		s.out.raw(name, ids[i], data)
	}
}

// present returns the name of an event for readers, and its data.
func present(e *store.Event) (name string, data any) {
	switch {
	case e.Change != nil:
		return api.EventContext, toContextEvent(e.Change)
	case e.Pin != nil:
		return api.EventPin, toPin(e.Pin)
	case e.Deleted != nil:
		pin := toPin(e.Deleted)
		pin.Deleted = true
		return api.EventPin, pin
	}
	return api.EventAgent, api.Agent{
		ID: e.RemovedAgent, Removed: true, State: api.StateAway, Labels: map[string]string{}, Attention: []string{},
	}
}

func toContextEvent(ch *store.Change) api.ContextEvent {
	e := api.ContextEvent{AgentID: ch.AgentID, Revision: ch.Revision, Version: ch.Version, AggregateHash: ch.AggregateHash, Discovery: ch.Discovery, Changed: ch.Touched,
		At: ch.At, Counts: api.Counts{Added: ch.Added, Changed: ch.Changed, Removed: ch.Removed}, FailingPlugins: ch.FailingPlugins}
	if e.Changed == nil {
		e.Changed = []string{}
	}
	e.More = ch.Added + ch.Changed + ch.Removed - len(ch.Touched)
	return e
}

// flush sends what was collected. The reader has Limits.Write to read it.
func (s *stream) flush() error {
	if s.out.buf.Len() == 0 {
		return nil
	}
	defer s.out.reset()
	return s.call.Flush(s.out.buf.Bytes())
}

// coalesce keeps the last push of each agent and the last event of each pin. A push that
// stands for several has the resources of all.
func coalesce(list []*event) []*event {
	type subject struct{ agent, pin string }
	of := func(e *event) subject {
		switch {
		case e.Change != nil:
			return subject{agent: e.Change.AgentID}
		case e.Pin != nil:
			return subject{pin: e.Pin.ID}
		case e.Deleted != nil:
			return subject{pin: e.Deleted.ID}
		}
		return subject{"removed", e.RemovedAgent}
	}
	last := make(map[subject]*event)
	var kept []*event
	for _, e := range slices.Backward(list) {
		later, there := last[of(e)]
		switch {
		case !there:
			if e.Change != nil { // merging must not modify what others read
				change := *e.Change
				e = &event{Event: e.Event}
				e.Change = &change
			}
			last[of(e)] = e
			kept = append(kept, e)
		case e.Change != nil:
			merge(later.Change, e.Change)
		}
	}
	slices.Reverse(kept)
	return kept
}

// merge adds what an older push touched.
func merge(ch, older *store.Change) {
	beyond := ch.Added + ch.Changed + ch.Removed - len(ch.Touched) + older.Added + older.Changed + older.Removed - len(older.Touched)
	all := slices.Concat(ch.Touched, older.Touched)
	slices.Sort(all)
	all = slices.Compact(all)
	ch.Touched = all[:min(len(all), store.MaxTouched)]
	ch.Added, ch.Changed, ch.Removed = 0, len(all)+beyond, 0
}

// frames collects server-sent events. The data is JSON, in which line breaks are escaped.
type frames struct {
	buf bytes.Buffer
	// sent is the last id.
	sent string
}

// event adds an event; id is empty for none.
func (f *frames) event(name, id string, data any) { f.raw(name, id, encode(data)) }

// raw adds an event whose data is encoded.
func (f *frames) raw(name, id string, data []byte) {
	fmt.Fprintf(&f.buf, "event: %s\n", name)
	if id != "" {
		fmt.Fprintf(&f.buf, "id: %s\n", id)
		f.sent = id
	}
	f.buf.WriteString("data: ")
	f.buf.Write(data)
	f.buf.WriteByte('\n')
}

// encode returns JSON with a line break.
func encode(data any) []byte {
	encoded, err := httpapi.Encode(data)
	if err != nil { // can't happen: everything marshals
		return []byte("null\n")
	}
	return encoded
}

// maxRoom is what frames keep for the next ones. The first may have all agents.
const maxRoom = 16 << 10

func (f *frames) reset() {
	if f.buf.Reset(); f.buf.Cap() > maxRoom {
		f.buf = bytes.Buffer{}
	}
}

// position sends a position without an event: clients only record the id.
func (f *frames) position(at store.Cursor) {
	if id := at.String(); id != f.sent {
		fmt.Fprintf(&f.buf, "id: %s\n\n", id)
		f.sent = id
	}
}

// heartbeat sends a comment, and the position if it has moved without events. Otherwise a
// reader of a quiet agent might later continue from a position that is no longer stored.
func (f *frames) heartbeat(at store.Cursor) {
	f.buf.WriteString(":\n\n")
	f.position(at)
}

func (f *frames) retry(d time.Duration) {
	fmt.Fprintf(&f.buf, "retry: %d\n\n", d.Milliseconds())
}
