package server

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"waymark/hub/api"
	"waymark/hub/store"
)

func (a *API) getHistory(c *call) error {
	limit, limited, err := c.revision("limit")
	if err != nil {
		return err
	}
	history, err := c.store.History(c.Context(), c.Arg("id"))
	if err != nil {
		return err
	}
	if limited && limit < int64(len(history)) {
		history = history[:limit]
	}
	list := make([]api.Change, len(history))
	for i := range history {
		ch := &history[i]
		list[i] = api.Change{
			Revision: ch.Revision, Version: ch.Version, AggregateHash: ch.AggregateHash, At: ch.At,
			Counts: api.Counts{Added: ch.Added, Changed: ch.Changed, Removed: ch.Removed}, Discovery: ch.Discovery, FailingPlugins: ch.FailingPlugins,
		}
	}
	return c.JSON(http.StatusOK, list)
}

// orNull returns nil for the zero time.
func orNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// getContext answers with a snapshot, at once or when there is a newer one.
func (a *API) getContext(c *call) error {
	revision, _, err := c.revision("revision")
	if err != nil {
		return err
	}
	want, err := c.prompt()
	if err != nil {
		return err
	}
	wait, _, err := c.Duration("wait", a.limits.MaxWait)
	if err != nil {
		return err
	}
	after, given, err := c.revision("after")
	if err != nil {
		return err
	}
	discovery, err := c.Word("discovery", "complete")
	if err != nil {
		return err
	}
	id := c.Arg("id")
	if wait > 0 && revision == 0 {
		tagged, away := taggedRevision(c)
		if !given {
			after = tagged
		}
		waited := awaited{agentID: id, after: after, complete: discovery != "", away: away}
		if answer, err := a.awaitRevision(c, waited, wait); err != nil {
			return err
		} else if !answer {
			c.Writer().Header().Set("ETag", `"`+strconv.FormatInt(after, 10)+`"`)
			c.Writer().WriteHeader(http.StatusNotModified)
			return nil
		}
	}
	return a.sendContext(c, store.Query{AgentID: id, Revision: revision}, want)
}

func (a *API) sendContext(c *call, q store.Query, want *prompt) error {
	if want != nil {
		end, err := a.beginRendering(c.Context())
		if err != nil {
			return err
		}
		defer end()
	}
	q.WithoutPayloads = want == nil
	stored, err := c.store.Snapshot(c.Context(), q)
	if err != nil {
		return err
	}
	tag, away := strconv.FormatInt(stored.Revision, 10), false
	if q.Revision == 0 && stored.Snapshot.Discovery.Pending() {
		agent, err := c.store.Agent(c.Context(), q.AgentID)
		if err != nil {
			return err
		}
		if !agent.Connected {
			tag, away = tag+awayTag, true
		}
	}
	if c.Known(tag) {
		return nil
	}
	return a.sendSnapshot(c, q.AgentID, &stored, want, away)
}

// awayTag is the suffix of the ETag of a snapshot with pending discovery whose agent is
// away: the snapshot is the same, but the answer isn't.
const awayTag = "-away"

func (a *API) sendSnapshot(c *call, agentID string, stored *store.StoredSnapshot, want *prompt, away bool) error {
	if want != nil {
		m := renderMarkdown(agentID, stored, away, want)
		if want.pieces {
			return c.JSON(http.StatusOK, m.answer(agentID, stored.Revision))
		}
		c.Send(http.StatusOK, "text/markdown; charset=utf-8", m.buf.Bytes())
		return nil
	}
	return c.JSON(http.StatusOK, api.Snapshot{
		Snapshot: stored.Snapshot, AgentID: agentID, ReceivedAt: stored.ReceivedAt, Revision: stored.Revision, Away: away,
	})
}

func (a *API) getResource(c *call) error {
	revision, _, err := c.revision("revision")
	if err != nil {
		return err
	}
	body, err := c.store.ResourceBody(c.Context(), store.Query{AgentID: c.Arg("id"), Revision: revision}, c.Arg("rid"))
	if err != nil {
		return err
	}
	c.SendPayload(body)
	return nil
}

// taggedRevision returns the highest revision in the client's ETags, and whether the client
// knows that the agent is away.
func taggedRevision(c *call) (revision int64, away bool) {
	for _, tag := range c.Tags() {
		tag, isAway := strings.CutSuffix(strings.Trim(tag, `"`), awayTag)
		if n, err := parseRevision(tag); err == nil && n >= revision {
			revision, away = n, isAway
		}
	}
	return revision, away
}

// parseRevision accepts only digits.
func parseRevision(text string) (int64, error) {
	n, err := strconv.ParseUint(text, 10, 63)
	return int64(n), err
}

// awaited is what a request waits for.
type awaited struct {
	agentID string
	// after is the revision that the client has.
	after int64
	// complete says that a revision with pending discovery isn't sufficient, unless the
	// agent is away, so that waiting is useless.
	complete bool
	// away says that the client knows that the agent is away.
	away bool
}

// awaitRevision waits for a revision, and reports whether there is one above after. It also
// returns true if the agent is away and its discovery is pending.
func (a *API) awaitRevision(c *call, want awaited, wait time.Duration) (answer bool, err error) {
	err = c.Within(wait, func(ctx context.Context) error {
		answer, err = a.awaitWithin(ctx, c, want)
		return err
	})
	if err != nil || answer {
		return answer, err
	}
	// The time may have been too short for a single look.
	agent, err := c.store.Agent(c.Context(), want.agentID)
	return newer(&agent, want.after), err
}

// newer reports whether the agent has something that a client with a revision doesn't have.
// A revision that the agent hasn't reached is of another life of the database.
func newer(agent *store.AgentInfo, than int64) bool {
	return agent.Revision > 0 && agent.Revision != than
}

func (a *API) awaitWithin(ctx context.Context, c *call, want awaited) (come bool, err error) {
	ctx, leave, err := a.sessions.enter(ctx, &c.reader)
	if err != nil {
		return false, err
	}
	defer leave()
	for {
		position, err := a.feed.now(ctx)
		if err != nil {
			return come, a.ended(c.Context(), ctx, err)
		}
		agent, err := c.store.Agent(ctx, want.agentID)
		if err != nil {
			return come, a.ended(c.Context(), ctx, err)
		}
		come = newer(&agent, want.after)
		if come && (!want.complete || !agent.Discovery.Pending()) {
			return true, nil
		}
		if want.complete && !want.away && agent.Revision > 0 && agent.Discovery.Pending() {
			err = a.awaitPending(ctx, position, want.agentID)
		} else {
			err = a.feed.awaitAgent(ctx, position, want.agentID)
		}
		switch {
		case errors.Is(err, errAway):
			return true, nil
		case err != nil:
			return come, a.ended(c.Context(), ctx, err)
		}
	}
}

// errAway ends a wait for an agent.
var errAway = errors.New("the agent is away")

// awaitPending is like the feed's awaitAgent for an agent with pending discovery, but fails
// with errAway if the agent is away.
func (a *API) awaitPending(ctx context.Context, since position, agentID string) error {
	waiting, cancel := context.WithCancelCause(ctx)
	var watch sync.WaitGroup
	defer watch.Wait()
	defer cancel(nil)
	watch.Go(func() {
		if a.presence.awaitAway(waiting, agentID) == nil {
			cancel(errAway)
		}
	})
	err := a.feed.awaitAgent(waiting, since, agentID)
	if err != nil && errors.Is(context.Cause(waiting), errAway) {
		return errAway
	}
	return err
}

// ended converts the error of a wait: nil if the time is up.
func (a *API) ended(client, waiting context.Context, err error) error {
	switch {
	case a.ctx.Err() != nil, client.Err() != nil:
		return err
	case errors.Is(context.Cause(waiting), errRevoked):
		return ErrUnauthorized
	case errors.Is(context.Cause(waiting), errRescoped):
		return errRescoped
	case errors.Is(waiting.Err(), context.DeadlineExceeded):
		return nil
	}
	return err
}
