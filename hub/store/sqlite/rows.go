package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"

	"waymark/host/snapshot"
	"waymark/hub/store"
)

// rows makes the agent's rows those of the push: it writes the new and the
// changed ones and deletes the others.
func (w *writer) rows(ctx context.Context, resources []snapshot.Resource) error {
	stored, err := w.digests(ctx)
	if err != nil {
		return err
	}
	upsert, err := w.tx.PrepareContext(ctx, upsertRow)
	if err != nil {
		return err
	}
	defer upsert.Close()
	for i := range resources {
		r := &resources[i]
		id, digest := r.ID(), store.RowDigest(r)
		old, exists := stored[id]
		delete(stored, id)
		if exists && bytes.Equal(old, digest[:]) {
			continue
		}
		if err := w.upsert(ctx, upsert, id, r, digest[:]); err != nil {
			return err
		}
	}
	for id := range stored {
		if _, err := w.tx.ExecContext(ctx, "DELETE FROM resources WHERE agent_id = ? AND id = ?", w.agentID, id); err != nil {
			return err
		}
	}
	return nil
}

// digests returns the digests of the rows that are stored now, by id.
func (w *writer) digests(ctx context.Context) (map[string][]byte, error) {
	rows, err := w.tx.QueryContext(ctx, "SELECT id, digest FROM resources WHERE agent_id = ?", w.agentID)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	digests := make(map[string][]byte)
	for rows.Next() {
		var id string
		var digest []byte
		if err := rows.Scan(&id, &digest); err != nil {
			return nil, err
		}
		digests[id] = digest
	}
	return digests, rows.Err()
}

const upsertRow = `INSERT INTO resources (
  agent_id, id, kind, source, key, source_path, name, description, status, error, stale,
  content_hash, size_bytes, resolver, attributes, payload, digest, revision, created_at, updated_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (agent_id, id) DO UPDATE SET
  kind = excluded.kind, source = excluded.source, key = excluded.key, source_path = excluded.source_path,
  name = excluded.name, description = excluded.description, status = excluded.status, error = excluded.error,
  stale = excluded.stale, content_hash = excluded.content_hash, size_bytes = excluded.size_bytes,
  resolver = excluded.resolver, attributes = excluded.attributes, payload = excluded.payload,
  digest = excluded.digest, revision = excluded.revision, updated_at = excluded.updated_at`

func (w *writer) upsert(ctx context.Context, stmt *sql.Stmt, id string, r *snapshot.Resource, digest []byte) error {
	attributes := []byte("{}")
	if len(r.Attributes) > 0 {
		var err error
		if attributes, err = json.Marshal(r.Attributes); err != nil {
			return err
		}
	}
	var payload any // NULL, where an empty payload is an empty BLOB
	if r.Payload != nil {
		payload = r.Payload
	}
	_, err := stmt.ExecContext(ctx,
		w.agentID, id, string(r.Kind), r.Source, r.Key, r.SourcePath, r.Name, r.Description, string(r.Status), r.Error, r.Stale,
		notNull(r.ContentHash), r.SizeBytes, r.Resolver, string(attributes), payload, digest, w.revision, w.now, w.now)
	return err
}
