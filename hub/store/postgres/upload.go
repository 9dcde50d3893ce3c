package postgres

import (
	"context"
	"crypto/sha256"
	"fmt"

	"github.com/jackc/pgx/v5"

	"waymark/hub/store"
	"waymark/hub/store/internal/sqlstore"
)

// uploader is payloads to be stored for an agent.
type uploader struct {
	member

	agentID  string
	payloads [][]byte
}

// Upload implements store.Store.
func (db *DB) Upload(ctx context.Context, agentID string, payloads [][]byte) error {
	if !store.Findable(agentID) {
		return &store.NotFoundError{What: "agent", ID: agentID}
	}
	u := &uploader{member: member{key: agentID}, agentID: agentID, payloads: payloads}
	for _, payload := range payloads {
		u.bytes += int64(len(payload))
	}
	if err := db.uploads.do(ctx, u); err != nil {
		return fmt.Errorf("upload: %w", err)
	}
	return nil
}

const (
	selectUploads = `SELECT id, coalesce((SELECT sum(payload_bytes) FROM uploads WHERE agent_id = agents.id), 0)::bigint FROM agents WHERE id = ANY($1)`
	insertUploads = `INSERT INTO uploads (agent_id, body, payload, payload_bytes, created_at)
		SELECT agent, body, payload, length(payload), $4 FROM unnest($1::text[], $2::bytea[], $3::bytea[]) AS u (agent, body, payload)
		ON CONFLICT (agent_id, body) DO UPDATE SET created_at = $4`
)

// uploadTogether stores payloads.
func uploadTogether(ctx context.Context, db *DB, conn *pgx.Conn, list ...*uploader) error {
	by, ids := make(map[string]*uploader, len(list)), make([]string, len(list))
	for i, u := range list {
		by[u.agentID], ids[i] = u, u.agentID
		u.err = &store.NotFoundError{What: "agent", ID: u.agentID}
	}
	return pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error {
		if err := db.LockAgents(ctx, runner{tx}, ids...); err != nil {
			return err
		}
		var full, agents []string
		var bodies, payloads [][]byte
		rows, err := tx.Query(ctx, selectUploads, ids)
		if err != nil {
			return err
		}
		var id string
		var kept int64
		_, err = pgx.ForEachRow(rows, []any{&id, &kept}, func() error {
			u := by[id]
			if u.err = nil; kept+u.bytes > store.MaxUploads {
				full = append(full, id)
			}
			named := make(map[store.Digest]bool)
			for _, payload := range u.payloads {
				if name := sha256.Sum256(payload); !named[name] {
					named[name] = true
					agents, bodies, payloads = append(agents, id), append(bodies, name[:]), append(payloads, sqlstore.NotNull(payload))
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		if len(full) > 0 {
			if _, err := tx.Exec(ctx, "DELETE FROM uploads WHERE agent_id = ANY($1)", full); err != nil {
				return err
			}
		}
		_, err = tx.Exec(ctx, insertUploads, agents, bodies, payloads, db.Stamp())
		return err
	})
}
