package sqlstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"waymark/hub/store"
	"waymark/snapshot"
)

const selectAgents = `SELECT a.id, a.name, a.created_at, coalesce(s.version, 0), s.aggregate_hash, coalesce(s.resources, 0),
	  coalesce(s.revision, 0), s.received_at, s.summary
	FROM agents a LEFT JOIN snapshots s ON s.revision = (SELECT max(revision) FROM snapshots WHERE agent_id = a.id) `

func readAgents(ctx context.Context, tx Tx, where string, args ...any) (agents []store.AgentInfo, err error) {
	err = each(ctx, tx, selectAgents+where, args, func(rows Rows) error {
		var a store.AgentInfo
		var created, version int64
		var received *int64
		var hash []byte
		var summary *string
		err := rows.Scan(&a.ID, &a.Name, &created, &version, &hash, &a.Resources, &a.Revision, &received, &summary)
		a.CreatedAt, a.UpdatedAt = toTime(created), nullTime(received)
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
	err = c.Database.Update(ctx, func(tx Tx) error {
		return one(ctx, tx, "UPDATE agents SET generation = generation + 1 WHERE id = $1 RETURNING generation", []any{agentID}, &generation)
	})
	if errors.Is(err, errNoRow) {
		return 0, &store.NotFoundError{What: "agent", ID: agentID}
	}
	if err != nil {
		return 0, fmt.Errorf("begin session: %w", err)
	}
	return generation, nil
}

// checkAgent returns a *store.NotFoundError when there is no such agent.
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
