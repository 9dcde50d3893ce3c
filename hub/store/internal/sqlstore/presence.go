package sqlstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"waymark/hub/store"
)

const (
	// sweepAfter is how long after the end of a hub's lease its agents' rows are changed: the
	// database may have been away, and with it all leases.
	sweepAfter = 30 * time.Second
	// sweepSome bounds how many rows a transaction changes.
	sweepSome = 500
)

// Lease implements store.Presence.
func (c *Core) Lease(ctx context.Context, hub store.PresentHub, ttl time.Duration) (begun bool, err error) {
	now := c.Stamp()
	var dead []string
	err = c.Database.Update(ctx, func(tx Tx) error {
		dead = nil
		n, err := tx.Exec(ctx, "UPDATE hubs SET until = $2 WHERE id = $1 AND until > $3", hub.ID, now+ttl.Microseconds(), now)
		if begun = n == 0; err != nil {
			return err
		}
		if begun {
			_, err := tx.Exec(ctx, `INSERT INTO hubs (id, until, url, secret) VALUES ($1, $2, $3, $4)
				ON CONFLICT (id) DO UPDATE SET until = excluded.until`, hub.ID, now+ttl.Microseconds(), hub.URL, hub.Secret)
			return err
		}
		return each(ctx, tx, "SELECT id FROM hubs WHERE until < $1", []any{now - sweepAfter.Microseconds()}, func(rows Rows) error {
			var id string
			err := rows.Scan(&id)
			dead = append(dead, id)
			return err
		})
	})
	for _, id := range dead {
		err = errors.Join(err, c.EndLease(ctx, id))
	}
	if err != nil {
		return false, fmt.Errorf("renew the hub's lease: %w", err)
	}
	return begun, nil
}

// EndLease implements store.Presence.
func (c *Core) EndLease(ctx context.Context, hub string) error {
	now := c.Stamp()
	for {
		var n int64
		err := c.Database.Update(ctx, func(tx Tx) (err error) {
			if _, err = tx.Exec(ctx, "UPDATE hubs SET until = 0 WHERE id = $1", hub); err != nil {
				return err
			}
			n, err = tx.Exec(ctx, "UPDATE agents SET hub = '"+away+"', seen_at = $2 WHERE id IN (SELECT id FROM agents WHERE hub = $1 ORDER BY name_key, id LIMIT $3)", hub, now, sweepSome)
			if err == nil && n < sweepSome {
				_, err = tx.Exec(ctx, "DELETE FROM hubs WHERE id = $1", hub)
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("end the hub's lease: %w", err)
		}
		if n < sweepSome {
			return nil
		}
	}
}

// EndSessions implements store.Presence.
func (c *Core) EndSessions(ctx context.Context, hub string, ended []store.EndedSession) error {
	data, err := json.Marshal(ended)
	if err != nil {
		return err
	}
	now := c.Stamp()
	err = c.Database.Update(ctx, func(tx Tx) error {
		_, err := tx.Exec(ctx, "UPDATE heads SET writer_hub = '' FROM ("+c.EndedList+") AS e WHERE heads.agent_id = e.agent_id AND writer_hub = $2 AND (writer = e.generation OR e.last AND writer < e.generation)",
			string(data), hub)
		if err != nil {
			return err
		}
		// A session that began later may be that of another connection, also here.
		_, err = tx.Exec(ctx, "UPDATE agents SET seen_at = $2, hub = CASE WHEN hub = $3 AND e.last AND agents.generation <= e.generation THEN '"+away+"' ELSE hub END FROM ("+
			c.EndedList+") AS e WHERE agents.id = e.agent_id", string(data), now, hub)
		return err
	})
	if err != nil {
		return fmt.Errorf("end sessions: %w", err)
	}
	return nil
}

// KeepAgents implements store.Presence.
func (c *Core) KeepAgents(ctx context.Context, hub string, ids []string) error {
	ids0, err := c.textList(ids)
	if err != nil {
		return err
	}
	now := c.Stamp()
	err = c.Database.Update(ctx, func(tx Tx) error {
		_, err := tx.Exec(ctx, "UPDATE agents SET hub = $2, seen_at = $3 WHERE id IN ("+c.TextList+") AND hub NOT IN (SELECT id FROM hubs WHERE until > $3)", ids0, hub, now)
		return err
	})
	if err != nil {
		return fmt.Errorf("say who is connected: %w", err)
	}
	return nil
}

// HubOf implements store.Presence.
func (c *Core) HubOf(ctx context.Context, agentID string) (at store.PresentHub, err error) {
	missing := &store.NotFoundError{What: "connection of agent", ID: agentID}
	if !store.Findable(agentID) {
		return at, missing
	}
	err = c.Database.Read(ctx, func(tx Tx) error {
		return one(ctx, tx, "SELECT o.id, o.url, o.secret FROM agents a JOIN hubs o ON o.id = a.hub WHERE a.id = $1 AND o.until > $2",
			[]any{agentID, c.Stamp()}, &at.ID, &at.URL, &at.Secret)
	})
	if errors.Is(err, errNoRow) {
		return at, missing
	}
	return at, err
}

// Contested implements store.Presence.
func (c *Core) Contested(ctx context.Context, hub string) (agents []store.Contested, err error) {
	err = c.Database.Read(ctx, func(tx Tx) error {
		agents = nil
		return each(ctx, tx, `SELECT c.agent_id, c.not_heard, coalesce(o.id, ''), CASE WHEN w.id IS NULL THEN 0 ELSE h.writer END, CASE WHEN w.id IS NULL THEN '' ELSE h.writer_run END
			FROM contested c JOIN agents a ON a.id = c.agent_id JOIN heads h ON h.agent_id = c.agent_id
			LEFT JOIN hubs o ON o.id = a.hub AND o.until > $2 LEFT JOIN hubs w ON w.id = h.writer_hub AND w.until > $2 AND w.id <> $1
			WHERE c.hub = $1 ORDER BY c.agent_id`, []any{hub, c.Stamp()}, func(rows Rows) error {
			var a store.Contested
			err := rows.Scan(&a.AgentID, &a.NotHeard, &a.Hub, &a.Elsewhere.Generation, &a.Elsewhere.Run)
			agents = append(agents, a)
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("list contested agents: %w", err)
	}
	return agents, nil
}

// SetNotHeard implements store.Presence.
func (c *Core) SetNotHeard(ctx context.Context, hub string, counts map[string]int) error {
	now := c.Stamp()
	err := c.Database.Update(ctx, func(tx Tx) error {
		for id, n := range counts {
			var err error
			if n < 0 {
				_, err = tx.Exec(ctx, "DELETE FROM contested WHERE hub = $1 AND agent_id = $2", hub, id)
			} else {
				_, err = tx.Exec(ctx, `INSERT INTO contested (hub, agent_id, not_heard) SELECT o.id, a.id, $3 FROM hubs o JOIN agents a ON a.id = $2 WHERE o.id = $1
					ON CONFLICT (hub, agent_id) DO UPDATE SET not_heard = excluded.not_heard`, hub, id, n)
			}
			if err == nil {
				_, err = tx.Exec(ctx, "UPDATE agents SET seen_at = $2 WHERE id = $1", id, now) // for MovedAgents
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("say who isn't heard: %w", err)
	}
	return nil
}

// The statements that begin sessions, of the agents listed in $1 at hub $2 at $3, whose locks are
// held; %s is Core.TextList. An agent that another hub with a lease has, or whose writer is there,
// is contested.
const (
	contest = `INSERT INTO contested (hub, agent_id) SELECT o.id, a.id FROM agents a JOIN heads h ON h.agent_id = a.id JOIN hubs o ON o.id = a.hub OR o.id = h.writer_hub
		WHERE a.id IN (%s) AND o.id <> $2 AND o.until > $3 ON CONFLICT (hub, agent_id) DO NOTHING`
	contestHere = `INSERT INTO contested (hub, agent_id) SELECT o.id, a.id FROM agents a JOIN hubs o ON o.id = $2
		WHERE a.id IN (%s) AND EXISTS (SELECT 1 FROM contested c JOIN hubs x ON x.id = c.hub WHERE c.agent_id = a.id AND x.id <> $2 AND x.until > $3) ON CONFLICT (hub, agent_id) DO NOTHING`
	selectElsewhere = `SELECT h.agent_id, h.writer, h.writer_run FROM heads h JOIN hubs o ON o.id = h.writer_hub
		WHERE h.agent_id IN (%s) AND o.id <> $2 AND o.until > $3`
	beginSessions = `UPDATE agents SET generation = generation + 1, seen_at = $3, hub = coalesce((SELECT id FROM hubs WHERE id = $2), '` + away + `')
		WHERE id IN (%s) RETURNING id, generation, hostname, root, agent_version`
)

// BeginSession implements store.Store.
func (c *Core) BeginSession(ctx context.Context, agentID, hub string) (generation int64, found store.Begun, err error) {
	if !store.Findable(agentID) {
		return 0, found, &store.NotFoundError{What: "agent", ID: agentID}
	}
	var begun map[string]*Session
	err = c.Database.Update(ctx, func(tx Tx) error {
		if err := c.LockAgents(ctx, tx, agentID); err != nil {
			return err
		}
		begun, err = c.BeginSessions(ctx, tx, hub, []string{agentID})
		return err
	})
	switch s := begun[agentID]; {
	case err != nil:
		return 0, found, fmt.Errorf("begin session: %w", err)
	case s == nil:
		return 0, found, &store.NotFoundError{What: "agent", ID: agentID}
	default:
		return s.Generation, s.Found, nil
	}
}

// Session is a session that has begun.
type Session struct {
	Generation int64
	Found      store.Begun
}

// BeginSessions begins a session for each agent that exists, by their ids. The caller has locked
// the agents: a push of an earlier session that is under way ends first.
func (c *Core) BeginSessions(ctx context.Context, tx Tx, hub string, ids []string) (map[string]*Session, error) {
	list, err := c.textList(ids)
	if err != nil {
		return nil, err
	}
	args, begun := []any{list, hub, c.Stamp()}, make(map[string]*Session, len(ids))
	for _, statement := range []string{contest, contestHere} {
		if _, err := tx.Exec(ctx, fmt.Sprintf(statement, c.TextList), args...); err != nil {
			return nil, err
		}
	}
	elsewhere := make(map[string]store.Writer)
	err = each(ctx, tx, fmt.Sprintf(selectElsewhere, c.TextList), args, func(rows Rows) error {
		var id string
		var w store.Writer
		err := rows.Scan(&id, &w.Generation, &w.Run)
		elsewhere[id] = w
		return err
	})
	if err != nil {
		return nil, err
	}
	err = each(ctx, tx, fmt.Sprintf(beginSessions, c.TextList), args, func(rows Rows) error {
		var id string
		s := new(Session)
		err := rows.Scan(&id, &s.Generation, &s.Found.Said.Hostname, &s.Found.Said.Root, &s.Found.Said.AgentVersion)
		s.Found.Elsewhere = elsewhere[id]
		begun[id] = s
		return err
	})
	return begun, err
}
