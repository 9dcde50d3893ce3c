package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"waymark/hub/store"
)

// SyncProvisioned implements store.Store.
func (db *DB) SyncProvisioned(ctx context.Context, tokens []store.NewToken) error {
	want := make(map[store.TokenHash]store.NewToken, len(tokens))
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
	}
	err := db.update(ctx, func(tx *sql.Tx) error {
		kept, err := dropProvisioned(ctx, tx, want)
		if err != nil {
			return err
		}
		for _, t := range tokens {
			if kept[t.Hash] {
				continue
			}
			if _, err := insertToken(ctx, tx, t, true, db.stamp()); err != nil {
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

// dropProvisioned removes the provisioned tokens that are not wanted, or not
// for the same role and agent, and returns the hashes of the others.
func dropProvisioned(ctx context.Context, tx *sql.Tx, want map[store.TokenHash]store.NewToken) (map[store.TokenHash]bool, error) {
	rows, err := tx.QueryContext(ctx, "SELECT hash, role, coalesce(agent_id, '') FROM tokens WHERE provisioned = 1")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	kept := make(map[store.TokenHash]bool)
	var gone [][]byte
	for rows.Next() {
		var hash []byte
		var role, agent string
		if err := rows.Scan(&hash, &role, &agent); err != nil {
			return nil, err
		}
		h := store.TokenHash(hash)
		if t, ok := want[h]; ok && string(t.Role) == role && t.AgentID == agent {
			kept[h] = true
			continue
		}
		gone = append(gone, hash)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	for _, hash := range gone {
		if _, err := tx.ExecContext(ctx, "DELETE FROM tokens WHERE hash = ?", hash); err != nil {
			return nil, err
		}
	}
	return kept, nil
}
