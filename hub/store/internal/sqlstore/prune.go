package sqlstore

import (
	"context"
	"fmt"
)

// pruneBatch bounds how many bodies one transaction deletes.
const pruneBatch = 500

// Prune implements store.Store: a transaction per agent, so that nobody waits
// for it for long.
func (c *Core) Prune(ctx context.Context) error {
	var agents []string
	err := c.Database.Read(ctx, func(tx Tx) error {
		agents = nil
		const query = "SELECT agent_id FROM snapshots GROUP BY agent_id HAVING count(*) > 1 ORDER BY agent_id"
		return each(ctx, tx, query, nil, func(rows Rows) error {
			var id string
			err := rows.Scan(&id)
			agents = append(agents, id)
			return err
		})
	})
	if err != nil {
		return fmt.Errorf("prune: %w", err)
	}
	for _, id := range agents {
		if err := c.pruneAgent(ctx, id); err != nil {
			return fmt.Errorf("prune agent %s: %w", id, err)
		}
	}
	if err := c.pruneEvents(ctx); err != nil {
		return fmt.Errorf("prune events: %w", err)
	}
	if err := c.pruneAudit(ctx); err != nil {
		return fmt.Errorf("prune the audit log: %w", err)
	}
	if err := c.pruneUploads(ctx); err != nil {
		return fmt.Errorf("prune uploads: %w", err)
	}
	if err := c.pruneBodies(ctx); err != nil {
		return fmt.Errorf("prune payloads: %w", err)
	}
	return nil
}

func (c *Core) pruneAgent(ctx context.Context, agentID string) error {
	now := c.Stamp()
	cut := func(tx Tx) (int64, error) {
		past, err := ReadPast(ctx, tx, agentID, c.Keep.Revisions+1)
		if err != nil || len(past) == 0 {
			return 0, err
		}
		return Cut(past[1:], past[0].CreatedAt, now, c.Keep), nil
	}
	var revision int64
	err := c.Database.Read(ctx, func(tx Tx) (err error) {
		revision, err = cut(tx)
		return err
	})
	if err != nil || revision == 0 {
		return err
	}
	return c.Database.Update(ctx, func(tx Tx) error {
		if _, err := c.lockAgent(ctx, tx, agentID); err != nil {
			return err
		}
		revision, err := cut(tx)
		if err != nil || revision == 0 {
			return err
		}
		if err := DropPast(ctx, tx, agentID, revision); err != nil {
			return err
		}
		var oldest int64
		if err := one(ctx, tx, "SELECT min(step) FROM snapshots WHERE agent_id = $1", []any{agentID}, &oldest); err != nil {
			return err
		}
		_, err = DropRows(ctx, tx, agentID, oldest) // pruneBodies finds their payloads
		return err
	})
}

var selectPast = fmt.Sprintf(SelectPast, "$1")

// ReadPast lists an agent's newest revisions, newest first.
func ReadPast(ctx context.Context, tx Tx, agentID string, limit int) ([]Past, error) {
	var past []Past
	err := each(ctx, tx, selectPast, []any{agentID, limit}, func(rows Rows) error {
		p, err := ScanPast(rows.Scan)
		past = append(past, p)
		return err
	})
	return past, err
}

// DropPast deletes an agent's revisions up to cut.
func DropPast(ctx context.Context, tx Tx, agentID string, cut int64) error {
	_, err := tx.Exec(ctx, DeletePast, agentID, cut)
	return err
}

// DropRows deletes the rows that none of the agent's revisions has any more, and returns
// the names of their payloads. oldest is the step of the oldest revision.
func DropRows(ctx context.Context, tx Tx, agentID string, oldest int64) (bodies [][]byte, err error) {
	const query = "SELECT DISTINCT body FROM resources WHERE agent_id = $1 AND until <= $2 AND body IS NOT NULL ORDER BY body"
	err = each(ctx, tx, query, []any{agentID, oldest}, func(rows Rows) error {
		var body []byte
		err := rows.Scan(&body)
		bodies = append(bodies, body)
		return err
	})
	if err != nil {
		return nil, err
	}
	_, err = tx.Exec(ctx, DeleteRows, agentID, oldest)
	return bodies, err
}

const (
	unused = "NOT EXISTS (SELECT 1 FROM resources r WHERE r.body = hash) AND NOT EXISTS (SELECT 1 FROM pin_resources p WHERE p.body = hash)"
	// dropBody deletes one payload if nothing uses it.
	dropBody = "DELETE FROM bodies WHERE hash = $1 AND " + unused
)

// DropBodies deletes those payloads that no row uses any more.
func DropBodies(ctx context.Context, tx Tx, bodies [][]byte) error {
	for _, body := range bodies {
		_, err := tx.Exec(ctx, dropBody, body)
		if err != nil {
			return err
		}
	}
	return nil
}

// pruneBodies drops unused payloads: those of the rows just dropped, of removed agents, and
// those that a push couldn't drop because another push, which then failed, was using them.
func (c *Core) pruneBodies(ctx context.Context) error {
	const query = "SELECT hash FROM bodies WHERE " + unused + " AND hash > $1 ORDER BY hash LIMIT $2"
	for last := []byte{}; ; {
		var bodies [][]byte
		err := c.Database.Read(ctx, func(tx Tx) error {
			bodies = nil
			return each(ctx, tx, query, []any{last, pruneBatch}, func(rows Rows) error {
				var body []byte
				err := rows.Scan(&body)
				bodies = append(bodies, body)
				return err
			})
		})
		if err != nil || len(bodies) == 0 {
			return err
		}
		if err := c.Database.Update(ctx, func(tx Tx) error { return DropBodies(ctx, tx, bodies) }); err != nil {
			return err
		}
		last = bodies[len(bodies)-1]
	}
}
