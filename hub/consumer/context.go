package consumer

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"waymark/hub/api"
	"waymark/hub/store"
)

func (a *API) listAgents(c *call) error {
	agents, err := c.store.Agents(c.Context())
	if err != nil {
		return err
	}
	connected := a.opts.Connected()
	list := make([]api.Agent, len(agents))
	for i := range agents {
		list[i] = toAgent(&agents[i], connected)
	}
	return c.JSON(http.StatusOK, list)
}

func (a *API) getAgent(c *call) error {
	agent, err := c.store.Agent(c.Context(), c.Arg("id"))
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, toAgent(&agent, a.opts.Connected()))
}

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
			Added: ch.Added, Changed: ch.Changed, Removed: ch.Removed,
		}
	}
	return c.JSON(http.StatusOK, list)
}

func toAgent(a *store.AgentInfo, all map[string]Connection) api.Agent {
	connection, connected := all[a.ID]
	return api.Agent{
		ID: a.ID, Name: a.Name, Connected: connected, NotHeard: connection.NotHeard, Version: a.Version, AggregateHash: a.AggregateHash,
		Resources: a.Resources, Revision: a.Revision, UpdatedAt: orNull(a.UpdatedAt),
	}
}

// orNull is for times that may not have come.
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
	markdown, err := c.wantsMarkdown()
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
	id := c.Arg("id")
	if wait > 0 && revision == 0 {
		if !given {
			after = taggedRevision(c)
		}
		if come, err := a.awaitRevision(c, id, after, wait); err != nil {
			return err
		} else if !come {
			c.Writer().Header().Set("ETag", `"`+strconv.FormatInt(after, 10)+`"`)
			c.Writer().WriteHeader(http.StatusNotModified)
			return nil
		}
	}
	return a.sendContext(c, store.Query{AgentID: id, Revision: revision}, markdown)
}

func (a *API) sendContext(c *call, q store.Query, markdown bool) error {
	if markdown {
		end, err := a.beginRendering(c.Context())
		if err != nil {
			return err
		}
		defer end()
	}
	q.WithoutPayloads = !markdown
	stored, err := c.store.Snapshot(c.Context(), q)
	if err != nil {
		return err
	}
	if c.Known(strconv.FormatInt(stored.Revision, 10)) {
		return nil
	}
	return a.sendSnapshot(c, q.AgentID, &stored, markdown)
}

func (a *API) sendSnapshot(c *call, agentID string, stored *store.StoredSnapshot, markdown bool) error {
	if markdown {
		c.Send(http.StatusOK, "text/markdown; charset=utf-8", renderMarkdown(agentID, stored))
		return nil
	}
	return c.JSON(http.StatusOK, api.Snapshot{
		Snapshot: stored.Snapshot, AgentID: agentID, ReceivedAt: stored.ReceivedAt, Revision: stored.Revision,
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

// taggedRevision returns the highest revision that the client's ETags name.
func taggedRevision(c *call) (revision int64) {
	for _, tag := range c.Tags() {
		if n, err := parseRevision(strings.Trim(tag, `"`)); err == nil {
			revision = max(revision, n)
		}
	}
	return revision
}

// parseRevision is strict: digits alone.
func parseRevision(text string) (int64, error) {
	n, err := strconv.ParseUint(text, 10, 63)
	return int64(n), err
}

// awaitRevision waits until the agent has a revision above after, and reports
// whether that came. A revision that the store hasn't reached is taken for one
// of another life of the database: any is newer.
func (a *API) awaitRevision(c *call, agentID string, after int64, wait time.Duration) (come bool, err error) {
	err = c.Within(wait, func(ctx context.Context) error {
		come, err = a.awaitWithin(ctx, c, agentID, after)
		return err
	})
	return come, err
}

func (a *API) awaitWithin(ctx context.Context, c *call, agentID string, after int64) (come bool, err error) {
	ctx, leave, err := a.sessions.enter(ctx, &c.reader)
	if err != nil {
		return false, err
	}
	defer leave()
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
