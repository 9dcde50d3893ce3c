package sqlstore

import (
	"context"
	"errors"
	"fmt"

	"waymark/hub/store"
)

// RemoveAgent implements store.Store.
func (c *Core) RemoveAgent(ctx context.Context, id string) error {
	if !store.Findable(id) {
		return &store.NotFoundError{What: "agent", ID: id}
	}
	now := c.Stamp()
	var bodies [][]byte
	var revision int64
	tried := false
	err := c.Database.Update(ctx, func(tx Tx) error {
		exists, err := lockAgent(ctx, tx, id)
		if err == nil && !exists {
			err = &store.NotFoundError{What: "agent", ID: id}
		}
		if err != nil {
			return err
		}
		tried = true
		bodies, err = readBodies(ctx, tx, "SELECT DISTINCT body FROM resources WHERE agent_id = $1 AND body IS NOT NULL ORDER BY body", id)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "DELETE FROM agents WHERE id = $1", id); err != nil { // and everything that refers to it
			return err
		}
		if revision, err = c.nextRevision(ctx, tx); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "UPDATE pins SET changed = $2 WHERE agent_id = $1", id, revision); err != nil {
			return err
		}
		return insertRemoval(ctx, tx, revision, "agent", id, "null", now)
	})
	if tried && errors.Is(err, store.ErrNotFound) {
		err = nil // an earlier try had been stored after all
	}
	if err != nil {
		return fmt.Errorf("remove agent: %w", err)
	}
	c.Newest.Announce(revision)
	c.dropUnused(ctx, bodies)
	return nil
}
