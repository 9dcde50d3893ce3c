package sqlstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"waymark/hub/store"
)

// RefreshPin implements store.Pins.
func (c *Core) RefreshPin(ctx context.Context, id string) (pin store.Pin, err error) {
	now := c.Stamp()
	var bodies [][]byte
	err = c.changePin(ctx, id, func(tx Tx, old *store.Pin) error {
		if bodies, err = dropPinRows(ctx, tx, id); err != nil {
			return err
		}
		_, err := tx.Exec(ctx,
			`UPDATE pins SET revision = 0, version = 0, aggregate_hash = $2, snapshot_error = '', plugins = 'null', received_at = 0,
			   pinned_at = NULL, drifted_at = NULL, drift_revision = 0, manifests = NULL WHERE id = $1`, id, []byte{})
		if err != nil {
			return err
		}
		pin, err = c.fill(ctx, tx, old, now)
		return err
	})
	if err != nil {
		return store.Pin{}, fmt.Errorf("refresh pin: %w", err)
	}
	c.Notices.Give()
	c.dropUnused(ctx, bodies)
	return pin, nil
}

// SetPinManifests implements store.Pins.
func (c *Core) SetPinManifests(ctx context.Context, id string, revision int64, manifests []byte) error {
	if len(manifests) > store.MaxManifests {
		return fmt.Errorf("keep manifests: %w: more than %d bytes", store.ErrInvalid, store.MaxManifests)
	}
	if !store.Findable(id) {
		return &store.NotFoundError{What: "pin", ID: id}
	}
	err := c.Database.Update(ctx, func(tx Tx) error {
		n, err := tx.Exec(ctx, "UPDATE pins SET manifests = $3 WHERE id = $1 AND revision = $2", id, revision, string(manifests))
		if err == nil && n == 0 {
			err = &store.NotFoundError{What: "pin", ID: id}
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("keep manifests: %w", err)
	}
	return nil
}

// DeletePin implements store.Pins.
func (c *Core) DeletePin(ctx context.Context, id string) error {
	now := c.Stamp()
	var bodies [][]byte
	tried := false
	err := c.changePin(ctx, id, func(tx Tx, old *store.Pin) (err error) {
		tried = true
		if bodies, err = dropPinRows(ctx, tx, id); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "DELETE FROM pins WHERE id = $1", id); err != nil {
			return err
		}
		was, err := json.Marshal(old)
		if err != nil {
			return err
		}
		revision, err := c.nextRevision(ctx, tx)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, insertDeleted, revision, old.AgentID, id, string(was), now)
		return err
	})
	if tried && errors.Is(err, store.ErrNotFound) {
		err = nil // an earlier try had been stored after all
	}
	if err != nil {
		return fmt.Errorf("delete pin: %w", err)
	}
	c.Notices.Give()
	c.dropUnused(ctx, bodies)
	return nil
}

// changePin runs f with a pin that nothing else changes, not even a push. The order of
// locks is a push's: agent, pin.
func (c *Core) changePin(ctx context.Context, id string, f func(Tx, *store.Pin) error) error {
	if !store.Findable(id) {
		return &store.NotFoundError{What: "pin", ID: id}
	}
	return c.Database.Update(ctx, func(tx Tx) error {
		pin, err := readPin(ctx, tx, id)
		if err != nil {
			return err
		}
		if _, err := c.lockAgent(ctx, tx, pin.AgentID); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "UPDATE pins SET name = name WHERE id = $1", id); err != nil {
			return err
		}
		if pin, err = readPin(ctx, tx, id); err != nil { // its state now that it is locked
			return err
		}
		if err := f(tx, &pin); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, countDrifted, pin.AgentID)
		return err
	})
}

// dropPinRows deletes a pin's rows and returns the names of their payloads.
func dropPinRows(ctx context.Context, tx Tx, id string) (bodies [][]byte, err error) {
	bodies, err = readBodies(ctx, tx, "SELECT DISTINCT body FROM pin_resources WHERE pin_id = $1 AND body IS NOT NULL ORDER BY body", id)
	if err != nil {
		return nil, err
	}
	_, err = tx.Exec(ctx, "DELETE FROM pin_resources WHERE pin_id = $1", id)
	return bodies, err
}

func readBodies(ctx context.Context, tx Tx, query string, args ...any) (bodies [][]byte, err error) {
	err = each(ctx, tx, query, args, func(rows Rows) error {
		var body []byte
		err := rows.Scan(&body)
		bodies = append(bodies, body)
		return err
	})
	return bodies, err
}

// dropUnused drops those payloads that nothing uses any more, in its own transaction. The
// holder of an agent's lock must not wait for a payload locked by a push that waits for the
// agent. What isn't dropped here is found by Prune.
func (c *Core) dropUnused(ctx context.Context, bodies [][]byte) {
	if len(bodies) > 0 {
		_ = c.Database.Update(ctx, func(tx Tx) error { return DropBodies(ctx, tx, bodies) })
	}
}
