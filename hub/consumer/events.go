package consumer

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"time"

	"waymark/hub/store"
)

// farewell is how long the end of a revoked token's stream may take.
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
	patient(c.w)
	defer context.AfterFunc(ctx, func() {
		// Whoever is written to and reads nothing has no more time than this.
		if errors.Is(context.Cause(ctx), errRevoked) {
			_ = http.NewResponseController(c.w).SetWriteDeadline(time.Now().Add(farewell))
		}
	})()
	if s.at, err = a.feed.now(ctx); err != nil {
		return err
	}
	s.agents = a.presence.now()
	s.header()
	// From here on there is no way to tell of an error but to end the stream.
	if s.begin(ctx) == nil {
		for ctx.Err() == nil && s.step(ctx) == nil {
			continue
		}
	}
	return nil
}

// filter says what a stream is about.
type filter struct {
	agentID, pinID string
	// token is the reader's: what is out of its scope doesn't pass.
	token *store.Token
}

// wants reports whether an event passes. With a pin named, only what happens
// to that pin does.
func (f *filter) wants(e *store.Event) bool {
	pin := e.Pin
	if pin == nil {
		pin = e.Deleted
	}
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

// wantsAgent reports whether the stream is about the agent, among others.
func (f *filter) wantsAgent(id string) bool {
	return (f.agentID == "" || f.agentID == id) && f.token.Allows(id)
}

// stream is one reader that follows.
type stream struct {
	api    *API
	w      http.ResponseWriter
	out    frames
	filter filter
	// cursor is the revision up to which everything was sent. known says that
	// the reader came with one.
	cursor int64
	known  bool
	at     position
	agents seenAgents
}

func (a *API) newStream(c *call) (*stream, error) {
	s := &stream{api: a, w: c.w, filter: filter{token: &c.reader.Token}}
	var err error
	if s.filter.agentID, err = c.text("agent_id"); err != nil {
		return nil, err
	}
	if s.filter.pinID, err = c.text("pin_id"); err != nil {
		return nil, err
	}
	if s.cursor, s.known, err = c.number("after"); err != nil {
		return nil, err
	}
	// What a browser knows by itself is newer than the URL it began with.
	if id := c.Header.Get("Last-Event-ID"); id != "" {
		if s.cursor, err = parseNumber(id); err != nil {
			return nil, &apiError{http.StatusBadRequest, "the request is not what it should be", "Last-Event-ID is not the id of an event"}
		}
		s.known = true
	}
	return s, nil
}

func (s *stream) header() {
	header := s.w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("X-Accel-Buffering", "no") // nginx would hold events back
	s.w.WriteHeader(http.StatusOK)
}

// begin sends what comes first.
func (s *stream) begin(ctx context.Context) error {
	s.out.retry(time.Second)
	if s.known {
		s.out.sent = s.cursor
		if s.cursor <= s.at.newest {
			return s.flush()
		}
		// Another hub may have been faster than this one's feed.
		if newest, is := s.api.feed.beyond(ctx, s.cursor); is {
			return s.reset(newest, "the position lies in the future: the history was set back")
		}
		return s.flush()
	}
	s.cursor = s.at.newest
	if s.agents.rows == nil { // the first stream of all
		connected := s.api.opts.Connected()
		slices.Sort(connected)
		var err error
		if s.agents.rows, err = s.api.readAgents(ctx, connected); err != nil {
			return err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(s.agents.rows)) {
		s.sendAgent(s.agents.rows[id])
	}
	s.out.position(s.cursor)
	return s.flush()
}

// step sends what there is, or waits for something.
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

// catchUp sends a page of what only the store has any more.
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
	case <-s.agents.moved:
		before := s.agents.rows
		s.agents = s.api.presence.now()
		for _, row := range differ(before, s.agents.rows) {
			s.sendAgent(row)
		}
	case <-timer.C:
		s.out.heartbeat(s.cursor)
	case <-ctx.Done():
		return ctx.Err()
	}
	return s.flush()
}
