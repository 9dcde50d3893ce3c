package sqlstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"waymark/hub/store"
	"waymark/snapshot"
)

const selectAgents = `SELECT a.id, a.name, a.created_at, coalesce(s.version, 0), s.aggregate_hash, coalesce(s.resources, 0),
	  coalesce(s.revision, 0), s.received_at, s.summary, a.hostname, a.root, a.agent_version, a.labels, a.seen_at,
	  coalesce(s.failing, 0), coalesce(s.snapshot_error, ''), coalesce(d.pins, 0)
	FROM agents a LEFT JOIN snapshots s ON s.revision = (SELECT max(revision) FROM snapshots WHERE agent_id = a.id)
	LEFT JOIN (SELECT agent_id, count(*) AS pins FROM pins WHERE drifted_at IS NOT NULL GROUP BY agent_id) AS d ON d.agent_id = a.id `

func readAgents(ctx context.Context, tx Tx, where string, args ...any) (agents []store.AgentInfo, err error) {
	err = each(ctx, tx, selectAgents+where, args, func(rows Rows) error {
		var a store.AgentInfo
		var created, version int64
		var received, seen *int64
		var labels string
		var hash []byte
		var summary *string
		err := rows.Scan(&a.ID, &a.Name, &created, &version, &hash, &a.Resources, &a.Revision, &received, &summary,
			&a.Hostname, &a.Root, &a.AgentVersion, &labels, &seen, &a.FailingPlugins, &a.SnapshotError, &a.DriftedPins)
		if err != nil {
			return err // no value of the row is set
		}
		a.CreatedAt, a.UpdatedAt, a.SeenAt = toTime(created), nullTime(received), nullTime(seen)
		if a.SeenAt.Before(a.UpdatedAt) {
			a.SeenAt = a.UpdatedAt
		}
		if labels != "{}" {
			err = json.Unmarshal([]byte(labels), &a.Labels)
		}
		a.Version, a.AggregateHash = uint64(version), toHash(hash) //nolint:gosec // >= 0 by CHECK
		a.Discovery.Phase = snapshot.PhasePending                  // until there is a snapshot
		if summary != nil {
			err = errors.Join(err, json.Unmarshal([]byte(*summary), &a.Discovery))
		}
		agents = append(agents, a)
		return err
	})
	return agents, err
}

// Agents implements store.Store.
func (c *Core) Agents(ctx context.Context) (agents []store.AgentInfo, err error) {
	err = c.Database.Read(ctx, func(tx Tx) error {
		agents, err = readAgents(ctx, tx, "ORDER BY a.id")
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list agents: %w", err)
	}
	return agents, nil
}

// Agent implements store.Store.
func (c *Core) Agent(ctx context.Context, id string) (store.AgentInfo, error) {
	var found []store.AgentInfo
	if store.Findable(id) {
		err := c.Database.Read(ctx, func(tx Tx) (err error) {
			found, err = readAgents(ctx, tx, "WHERE a.id = $1", id)
			return err
		})
		if err != nil {
			return store.AgentInfo{}, fmt.Errorf("read agent: %w", err)
		}
	}
	if len(found) == 0 {
		return store.AgentInfo{}, &store.NotFoundError{What: "agent", ID: id}
	}
	return found[0], nil
}

// BeginSession implements store.Store.
func (c *Core) BeginSession(ctx context.Context, agentID string) (generation int64, err error) {
	if !store.Findable(agentID) {
		return 0, &store.NotFoundError{What: "agent", ID: agentID}
	}
	now := c.Stamp()
	err = c.Database.Update(ctx, func(tx Tx) error {
		return one(ctx, tx, "UPDATE agents SET generation = generation + 1, seen_at = $2 WHERE id = $1 RETURNING generation",
			[]any{agentID, now}, &generation)
	})
	if errors.Is(err, errNoRow) {
		return 0, &store.NotFoundError{What: "agent", ID: agentID}
	}
	if err != nil {
		return 0, fmt.Errorf("begin session: %w", err)
	}
	return generation, nil
}

// SeenAgents implements store.Store.
func (c *Core) SeenAgents(ctx context.Context, ids []string) error {
	list, err := c.textList(ids)
	if err != nil {
		return err
	}
	now := c.Stamp()
	err = c.Database.Update(ctx, func(tx Tx) error {
		_, err := tx.Exec(ctx, "UPDATE agents SET seen_at = $2 WHERE id IN ("+c.TextList+")", list, now)
		return err
	})
	if err != nil {
		return fmt.Errorf("say when agents were seen: %w", err)
	}
	return nil
}

// DescribeAgent implements store.Store. Most often there is nothing to write.
func (c *Core) DescribeAgent(ctx context.Context, id string, d store.AgentDescription) error {
	if err := d.Check(); err != nil {
		return err
	}
	before, err := c.Agent(ctx, id)
	if err != nil || before.AgentDescription == d {
		return err
	}
	return c.changeAgent(ctx, id, func(tx Tx) error {
		_, err := tx.Exec(ctx, "UPDATE agents SET hostname = $2, root = $3, agent_version = $4 WHERE id = $1", id, d.Hostname, d.Root, d.AgentVersion)
		return err
	})
}

// LabelAgent implements store.Store.
func (c *Core) LabelAgent(ctx context.Context, id string, set store.Labels, remove []string) (labels store.Labels, err error) {
	err = c.changeAgent(ctx, id, func(tx Tx) error {
		var before string
		if err := one(ctx, tx, "SELECT labels FROM agents WHERE id = $1", []any{id}, &before); err != nil {
			return err
		}
		labels = make(store.Labels)
		if err := json.Unmarshal([]byte(before), &labels); err != nil {
			return err
		}
		maps.Copy(labels, set)
		for _, key := range remove {
			delete(labels, key)
		}
		if err := labels.Check(); err != nil {
			return err
		}
		after, err := json.Marshal(labels)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, "UPDATE agents SET labels = $2 WHERE id = $1", id, string(after))
		return err
	})
	if err != nil {
		return nil, err
	}
	return labels, nil
}

// Labeled implements store.Store.
func (c *Core) Labeled(ctx context.Context, labels store.Labels) (ids []string, err error) {
	err = c.Database.Read(ctx, func(tx Tx) error {
		ids = nil
		return each(ctx, tx, "SELECT id, labels FROM agents WHERE labels <> '{}' ORDER BY id", nil, func(rows Rows) error {
			var id, text string
			var has store.Labels
			if err := rows.Scan(&id, &text); err != nil {
				return err
			}
			if err := json.Unmarshal([]byte(text), &has); err != nil {
				return err
			}
			if has.Has(labels) {
				ids = append(ids, id)
			}
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("list agents by label: %w", err)
	}
	return ids, nil
}

// changeAgent runs f in a transaction that holds the agent's lock.
func (c *Core) changeAgent(ctx context.Context, id string, f func(Tx) error) error {
	if !store.Findable(id) {
		return &store.NotFoundError{What: "agent", ID: id}
	}
	err := c.Database.Update(ctx, func(tx Tx) error {
		exists, err := lockAgent(ctx, tx, id)
		if err == nil && !exists {
			err = &store.NotFoundError{What: "agent", ID: id}
		}
		if err != nil {
			return err
		}
		return f(tx)
	})
	if err != nil {
		return fmt.Errorf("change agent: %w", err)
	}
	return nil
}

// checkAgent returns a *store.NotFoundError if the agent doesn't exist.
func checkAgent(ctx context.Context, tx Tx, id string) error {
	var found string
	err := one(ctx, tx, "SELECT id FROM agents WHERE id = $1", []any{id}, &found)
	if errors.Is(err, errNoRow) {
		return &store.NotFoundError{What: "agent", ID: id}
	}
	return err
}

// toHash returns nil for an empty hash.
func toHash(b []byte) snapshot.Hash {
	if len(b) == 0 {
		return nil
	}
	return b
}
