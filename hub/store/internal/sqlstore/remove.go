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
	tried := false
	err := c.Database.Update(ctx, func(tx Tx) error {
		exists, err := c.lockAgent(ctx, tx, id)
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
		revision, err := c.nextRevision(ctx, tx)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "UPDATE pins SET changed = $2 WHERE agent_id = $1", id, revision); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `INSERT INTO events (what, revision, agent_id, pin_id, at)
			SELECT 'pin', changed, agent_id, id, $2 FROM pins WHERE agent_id = $1 ORDER BY id`, id, now); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, insertRemoved, revision, id, now)
		return err
	})
	if tried && errors.Is(err, store.ErrNotFound) {
		err = nil // an earlier try had been stored after all
	}
	if err != nil {
		return fmt.Errorf("remove agent: %w", err)
	}
	c.Notices.Give()
	c.dropUnused(ctx, bodies)
	return nil
}
