package server

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
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
	s.agents, s.agentsChanged = a.presence.agents()
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
		groups, next, complete := a.feed.since(at.newest)
		news := !complete || next.epoch != at.epoch
		for _, g := range groups {
			news = news || slices.ContainsFunc(g.events, func(e store.Event) bool {
				return e.Pin != nil && e.Pin.ID == id || e.Deleted != nil && e.Deleted.ID == id
			})
		}
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
	// cursor is the revision up to which everything was sent. known says that the reader
	// had one.
	cursor int64
	known  bool
	at     position
	// agents are those that the reader knows. agentsChanged is closed when there is
	// something newer.
	agents        map[string]api.Agent
	agentsChanged <-chan struct{}
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
	if s.cursor, s.known, err = c.revision("after"); err != nil {
		return nil, err
	}
	// Last-Event-ID, which a browser updates, is newer than the URL.
	if id := c.Header.Get("Last-Event-ID"); id != "" {
		if s.cursor, err = parseRevision(id); err != nil {
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
		s.out.sent = s.cursor
		if s.cursor <= s.at.newest {
			return s.flush()
		}
		// Another hub may be ahead of this one's feed.
		if newest, is := s.api.feed.beyond(ctx, s.cursor); is {
			return s.reset(newest, "the position lies in the future: the history was set back")
		}
		return s.flush()
	}
	s.cursor = s.at.newest
	if s.agents == nil { // this is the first stream
		connected := s.api.opts.Connected()
		var err error
		if s.agents, err = s.api.readAgents(ctx, connected); err != nil {
			return err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(s.agents)) {
		s.sendAgent(s.agents[id])
	}
	s.out.position(s.cursor)
	return s.flush()
}

// step sends what is available, or waits.
func (s *stream) step(ctx context.Context) error {
	groups, at, complete := s.api.feed.since(s.cursor)
	switch {
	case at.epoch != s.at.epoch:
		s.at = at
		return s.reset(at.newest, "the history was set back, or this hub has missed a part of it")
	case !complete:
		return s.catchUp(ctx)
	case at.newest <= s.cursor:
		s.at = at
		return s.idle(ctx)
	}
	s.at = at
	s.send(groups, len(groups) > pageSize)
	s.cursor = at.newest
	return s.flush()
}

// catchUp sends a page of events that only the store still has.
func (s *stream) catchUp(ctx context.Context) error {
	page, err := s.api.store.Events(ctx, s.cursor, pageSize)
	switch {
	case err != nil:
		return err
	case page.Floor > s.cursor:
		return s.reset(page.Newest, "the history isn't kept from there any more")
	case page.Newest < s.cursor:
		return s.reset(page.Newest, "the position lies in the future: the history was set back")
	}
	groups := groupUp(page.List)
	s.send(groups, len(groups) >= pageSize)
	s.cursor = page.Through
	return s.flush()
}

// idle waits for something to send.
func (s *stream) idle(ctx context.Context) error {
	timer := time.NewTimer(s.api.limits.Heartbeat)
	defer timer.Stop()
	select {
	case <-s.at.moved:
		return nil
	case <-s.agentsChanged:
		before := s.agents
		s.agents, s.agentsChanged = s.api.presence.agents()
		for _, row := range differ(before, s.agents) {
			s.sendAgent(row)
		}
	case <-timer.C:
		s.out.heartbeat(s.cursor)
	case <-ctx.Done():
		return ctx.Err()
	}
	return s.flush()
}

// reset tells the reader to start again, and continues from newest.
func (s *stream) reset(newest int64, reason string) error {
	s.cursor = newest
	s.out.event(api.EventReset, newest, api.ResetEvent{Reason: reason})
	return s.flush()
}

// sendAgent adds an agent that has connected or disconnected.
func (s *stream) sendAgent(row api.Agent) {
	if s.filter.pinID == "" && s.filter.wantsAgent(row.ID) {
		s.out.event(api.EventAgent, none, row)
	}
}

// send adds events. If there are too many, it adds only the newest of each agent and pin.
func (s *stream) send(groups []group, tooMuch bool) {
	var list []store.Event
	for _, g := range groups {
		for i := range g.events {
			if s.filter.wants(&g.events[i]) {
				list = append(list, g.events[i])
			}
		}
	}
	if tooMuch {
		list = coalesce(list)
	}
	for i := range list {
		// Only the last event of a revision has an id; if events were combined, only the
		// very last one.
		id := list[i].Revision
		if i < len(list)-1 && (tooMuch || list[i+1].Revision == id) {
			id = none
		}
		s.sendEvent(&list[i], id)
	}
}

func (s *stream) sendEvent(e *store.Event, id int64) {
	switch {
	case e.Change != nil:
		s.out.event(api.EventContext, id, toContextEvent(e.Change))
	case e.Pin != nil:
		s.out.event(api.EventPin, id, toPin(e.Pin))
	case e.Deleted != nil:
		pin := toPin(e.Deleted)
		pin.Deleted = true
		s.out.event(api.EventPin, id, pin)
	default:
		s.out.event(api.EventAgent, id, api.Agent{
			ID: e.RemovedAgent, Removed: true, State: api.StateAway, Labels: map[string]string{}, Attention: []string{},
		})
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
	defer s.out.buf.Reset()
	return s.call.Flush(s.out.buf.Bytes())
}

// coalesce keeps the last push of each agent and the last event of each pin. A push that
// stands for several has the resources of all.
func coalesce(list []store.Event) []store.Event {
	type subject struct{ agent, pin string }
	of := func(e *store.Event) subject {
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
	last := make(map[subject]*store.Event)
	var kept []store.Event
	for i := len(list) - 1; i >= 0; i-- {
		e := list[i]
		later, there := last[of(&e)]
		switch {
		case !there:
			last[of(&e)] = &list[i]
			if e.Change != nil { // merging must not modify what others read
				change := *e.Change
				list[i].Change = &change
			}
		case e.Change != nil:
			merge(later.Change, e.Change)
		}
	}
	for i := range list {
		if last[of(&list[i])] == &list[i] {
			kept = append(kept, list[i])
		}
	}
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

// none is the id of an event without one.
const none = -1

// frames collects server-sent events. The data is JSON, in which line breaks are escaped.
type frames struct {
	buf bytes.Buffer
	// sent is the last id.
	sent int64
}

func (f *frames) event(name string, id int64, data any) {
	fmt.Fprintf(&f.buf, "event: %s\n", name)
	if id != none {
		fmt.Fprintf(&f.buf, "id: %d\n", id)
		f.sent = id
	}
	f.buf.WriteString("data: ")
	encoded, err := httpapi.Encode(data)
	if err != nil { // can't happen: everything marshals
		encoded = []byte("null\n")
	}
	f.buf.Write(encoded)
	f.buf.WriteByte('\n')
}

// position sends a position without an event: clients only record the id.
func (f *frames) position(id int64) {
	if id != f.sent {
		fmt.Fprintf(&f.buf, "id: %d\n\n", id)
		f.sent = id
	}
}

// heartbeat sends a comment, and the position if it has moved without events. Otherwise a
// reader of a quiet agent might later continue from a position that is no longer stored.
func (f *frames) heartbeat(id int64) {
	f.buf.WriteString(":\n\n")
	f.position(id)
}

func (f *frames) retry(d time.Duration) {
	fmt.Fprintf(&f.buf, "retry: %d\n\n", d.Milliseconds())
}
