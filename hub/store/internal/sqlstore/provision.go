package sqlstore

import (
	"context"
	"fmt"

	"waymark/hub/store"
	"waymark/internal/credential"
)

// SyncProvisioned implements store.Store.
func (c *Core) SyncProvisioned(ctx context.Context, tokens []store.NewToken) error {
	want := make(map[credential.Hash]store.NewToken, len(tokens))
	made := make([]*hashedToken, 0, len(tokens))
	for i, t := range tokens {
		if err := t.Check(); err != nil {
			return fmt.Errorf("provision token %d: %w", i+1, err)
		}
		if t.Role == store.RoleAgent && t.AgentID == "" {
			return fmt.Errorf("provision token %d: %w: an agent token needs an agent id", i+1, store.ErrInvalid)
		}
		if _, dup := want[t.Hash]; dup {
			return fmt.Errorf("provision token %d: %w", i+1, store.ErrTokenExists)
		}
		want[t.Hash] = t
		made = append(made, newToken(t, true, c.Stamp()))
	}
	err := c.Database.Update(ctx, func(tx Tx) error {
		kept, err := dropProvisioned(ctx, tx, want)
		if err != nil {
			return err
		}
		for _, t := range made {
			if kept[t.hash] {
				continue
			}
			if err := t.insert(ctx, tx); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("provision tokens: %w", err)
	}
	return nil
}

// dropProvisioned removes the provisioned tokens that are unwanted or have another role or
// agent, and returns the hashes of the others.
func dropProvisioned(ctx context.Context, tx Tx, want map[credential.Hash]store.NewToken) (map[credential.Hash]bool, error) {
	kept := make(map[credential.Hash]bool)
	var gone [][]byte
	// Sorted, so that two hubs starting at once lock in the same order.
	const query = "SELECT hash, role, coalesce(agent_id, '') FROM tokens WHERE provisioned ORDER BY hash"
	err := each(ctx, tx, query, nil, func(rows Rows) error {
		var hash []byte
		var role, agent string
		if err := rows.Scan(&hash, &role, &agent); err != nil {
			return err
		}
		h := credential.Hash(hash)
		if t, ok := want[h]; ok && string(t.Role) == role && t.AgentID == agent {
			kept[h] = true
		} else {
			gone = append(gone, hash)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, hash := range gone {
		if _, err := tx.Exec(ctx, "DELETE FROM tokens WHERE hash = $1", hash); err != nil {
			return nil, err
		}
	}
	return kept, nil
}
