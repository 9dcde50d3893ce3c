package consumer

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"waymark/hub/store"
)

// showContext answers with a snapshot, at once or when there is a newer one.
func (a *API) showContext(c *call) error {
	revision, _, err := c.number("revision")
	if err != nil {
		return err
	}
	markdown, err := c.markdown()
	if err != nil {
		return err
	}
	wait, err := c.duration("wait", a.limits.MaxWait)
	if err != nil {
		return err
	}
	after, given, err := c.number("after")
	if err != nil {
		return err
	}
	id := c.args[0]
	if wait > 0 && revision == 0 {
		if !given {
			after = taggedRevision(c.Request)
		}
		if come, err := a.awaitRevision(c, id, after, wait); err != nil {
			return err
		} else if !come {
			c.w.Header().Set("ETag", `"`+strconv.FormatInt(after, 10)+`"`)
			c.w.WriteHeader(http.StatusNotModified)
			return nil
		}
	}
	return a.sendContext(c, store.Query{AgentID: id, Revision: revision}, markdown)
}

func (a *API) sendContext(c *call, q store.Query, markdown bool) error {
	if markdown {
		release, err := a.enterHeavy(c.Context())
		if err != nil {
			return err
		}
		defer release()
	}
	q.WithoutPayloads = !markdown
	stored, err := c.store.Snapshot(c.Context(), q)
	if err != nil {
		return err
	}
	if isKnown(c.w, c.Request, strconv.FormatInt(stored.Revision, 10)) {
		return nil
	}
	return a.sendSnapshot(c, q.AgentID, &stored, markdown)
}

func (a *API) sendSnapshot(c *call, agentID string, stored *store.StoredSnapshot, markdown bool) error {
	if markdown {
		send(c.w, http.StatusOK, "text/markdown; charset=utf-8", renderMarkdown(agentID, stored))
		return nil
	}
	return answer(c.w, http.StatusOK, contextJSON{stored.Snapshot, agentID, stored.ReceivedAt, stored.Revision})
}

func (a *API) showResource(c *call) error {
	revision, _, err := c.number("revision")
	if err != nil {
		return err
	}
	body, err := c.store.ResourceBody(c.Context(), store.Query{AgentID: c.args[0], Revision: revision}, c.args[1])
	if err != nil {
		return err
	}
	sendBody(c.w, body)
	return nil
}

// enterHeavy waits for one of the places for what holds much memory.
func (a *API) enterHeavy(ctx context.Context) (release func(), err error) {
	select {
	case a.heavy <- struct{}{}:
		return func() { <-a.heavy }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-a.ctx.Done():
		return nil, a.ctx.Err()
	}
}

// taggedRevision returns the highest revision that the client's ETags name.
func taggedRevision(r *http.Request) (revision int64) {
	for _, line := range r.Header.Values("If-None-Match") {
		for tag := range strings.SplitSeq(line, ",") {
			tag = strings.Trim(strings.TrimPrefix(strings.TrimSpace(tag), "W/"), `"`)
			if n, err := parseNumber(tag); err == nil {
				revision = max(revision, n)
			}
		}
	}
	return revision
}

// awaitRevision waits until the agent has a revision above after, and reports
// whether that came. A revision that the store hasn't reached is taken for one
// of another life of the database: any is newer.
func (a *API) awaitRevision(c *call, agentID string, after int64, wait time.Duration) (come bool, err error) {
	ctx, leave, err := a.sessions.enter(c.Context(), &c.reader)
	if err != nil {
		return false, err
	}
	defer leave()
	patient(c.w)
	defer a.hurry(c.w)
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for {
		position, err := a.feed.now(ctx)
		if err != nil {
			return false, a.ended(c.Context(), ctx, err)
		}
		agent, err := c.store.Agent(ctx, agentID)
		if err != nil {
			return false, a.ended(c.Context(), ctx, err)
		}
		if agent.Revision > after {
			return true, nil
		}
		// What the feed knows may be a little behind.
		if agent.Revision > 0 && after > position.newest {
			if _, is := a.feed.beyond(ctx, after); is {
				return true, nil
			}
		}
		if err := a.feed.awaitAgent(ctx, position, agentID); err != nil {
			return false, a.ended(c.Context(), ctx, err)
		}
	}
}

// ended says what it means that waiting ended with err: nothing is wrong when
// the time was up.
func (a *API) ended(client, waiting context.Context, err error) error {
	switch {
	case a.ctx.Err() != nil, client.Err() != nil:
		return err
	case errors.Is(context.Cause(waiting), errRevoked):
		return ErrUnauthorized
	case errors.Is(waiting.Err(), context.DeadlineExceeded):
		return nil
	}
	return err
}

// patient lifts the server's deadline for the answer while a request waits: in
// HTTP/2 it ends also a stream on which nothing is being written. Where there is
// no connection, there is no deadline.
func patient(w http.ResponseWriter) { _ = http.NewResponseController(w).SetWriteDeadline(time.Time{}) }

// hurry gives the client of a request that has waited time to read the answer.
func (a *API) hurry(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(a.limits.Write))
}
