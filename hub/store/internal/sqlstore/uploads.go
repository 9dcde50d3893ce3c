package sqlstore

import (
	"context"
	"crypto/sha256"
	"fmt"

	"waymark/hub/store"
)

// Upload implements store.Store.
func (c *Core) Upload(ctx context.Context, agentID string, payloads [][]byte) error {
	err := c.Database.Update(ctx, func(tx Tx) error {
		switch found, err := c.lockAgent(ctx, tx, agentID); {
		case err != nil:
			return err
		case !found:
			return &store.NotFoundError{What: "agent", ID: agentID}
		}
		var kept, comes int64
		if err := one(ctx, tx, "SELECT coalesce(sum(payload_bytes), 0) FROM uploads WHERE agent_id = $1", []any{agentID}, &kept); err != nil {
			return err
		}
		for _, payload := range payloads {
			comes += int64(len(payload))
		}
		if kept+comes > store.MaxUploads {
			if _, err := tx.Exec(ctx, DropUploads, agentID); err != nil {
				return err
			}
		}
		for _, payload := range payloads {
			name := sha256.Sum256(payload)
			_, err := tx.Exec(ctx, `INSERT INTO uploads (agent_id, body, payload, payload_bytes, created_at) VALUES ($1, $2, $3, $4, $5)
				ON CONFLICT (agent_id, body) DO UPDATE SET created_at = $5`, agentID, name[:], NotNull(payload), int64(len(payload)), c.Stamp())
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("upload: %w", err)
	}
	return nil
}

// pruneUploads forgets uploads that no push has named.
func (c *Core) pruneUploads(ctx context.Context) error {
	return c.Database.Update(ctx, func(tx Tx) error {
		_, err := tx.Exec(ctx, "DELETE FROM uploads WHERE created_at <= $1", c.Stamp()-store.UploadsFor.Microseconds())
		return err
	})
}
