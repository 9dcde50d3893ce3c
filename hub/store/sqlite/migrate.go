package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"

	"waymark/hub/store/internal/plan"
	"waymark/snapshot"
)

//go:embed migrations/*.sql
var migrations embed.FS

//go:embed history.sql
var historySchema string

func newProvider(db *sql.DB) (*goose.Provider, error) {
	dir, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, err
	}
	return goose.NewProvider(goose.DialectSQLite3, db, dir,
		goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()),
		goose.WithGoMigrations(goose.NewGoMigration(2, &goose.GoFunc{RunTx: addHistory}, nil)))
}

// addHistory is migration 2: what was the newest snapshot becomes the first
// revision of a history. It is in Go because payloads get SHA-256 for a name.
// A migration never changes once it is released; should what it calls change,
// it needs a copy of its own.
func addHistory(ctx context.Context, tx *sql.Tx) error {
	if _, err := tx.ExecContext(ctx, historySchema); err != nil {
		return err
	}
	// Steps only have to rise, so the old revisions are as good as others.
	// Generation 0 is no session's: what a delta builds on isn't known.
	_, err := tx.ExecContext(ctx,
		`INSERT INTO snapshots (revision, agent_id, step, generation, version, aggregate_hash, snapshot_error, plugins,
		   resources, payload_bytes, written_bytes, created_at, received_at)
		 SELECT s.revision, s.agent_id, s.revision, 0, s.version, s.aggregate_hash, s.snapshot_error, s.plugins,
		   s.resources, coalesce(sum(length(r.payload)), 0), coalesce(sum(length(r.payload)), 0), s.received_at, s.received_at
		 FROM old_snapshots s LEFT JOIN old_resources r ON r.agent_id = s.agent_id GROUP BY s.revision`)
	if err != nil {
		return err
	}
	ids, err := oldRows(ctx, tx)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := moveRow(ctx, tx, id); err != nil {
			return fmt.Errorf("resource row %d: %w", id, err)
		}
	}
	_, err = tx.ExecContext(ctx, "DROP TABLE old_resources; DROP TABLE old_snapshots")
	return err
}

func oldRows(ctx context.Context, tx *sql.Tx) (ids []int64, err error) {
	rows, err := tx.QueryContext(ctx, "SELECT rowid FROM old_resources ORDER BY rowid")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// moveRow moves one resource, and its payload to the bodies.
func moveRow(ctx context.Context, tx *sql.Tx, rowid int64) error {
	var r snapshot.Resource
	var attributes string
	var hash []byte
	var hasPayload bool
	err := tx.QueryRowContext(ctx,
		`SELECT kind, source, key, source_path, name, description, status, error, stale,
		   content_hash, size_bytes, resolver, attributes, payload, payload IS NOT NULL
		 FROM old_resources WHERE rowid = $1`, rowid).
		Scan((*string)(&r.Kind), &r.Source, &r.Key, &r.SourcePath, &r.Name, &r.Description, (*string)(&r.Status), &r.Error, &r.Stale,
			&hash, &r.SizeBytes, &r.Resolver, &attributes, &r.Payload, &hasPayload)
	if err != nil {
		return err
	}
	r.ContentHash = hash
	if hasPayload && r.Payload == nil {
		r.Payload = []byte{}
	}
	if err := json.Unmarshal([]byte(attributes), &r.Attributes); err != nil {
		return err
	}
	row, err := plan.MakeRow(&r)
	if err != nil {
		return err
	}
	if row.Body != nil {
		if _, err := tx.ExecContext(ctx, insertBody, row.Body, r.Payload); err != nil {
			return err
		}
	}
	_, err = tx.ExecContext(ctx,
		`INSERT INTO resources (agent_id, id, since, kind, source, key, source_path, name, description, status, error, stale,
		   content_hash, size_bytes, resolver, attributes, body, payload_bytes, digest, created_at, updated_at)
		 SELECT agent_id, id, revision, kind, source, key, source_path, name, description, status, error, stale,
		   content_hash, size_bytes, resolver, attributes, $2, $3, $4, created_at, updated_at
		 FROM old_resources WHERE rowid = $1`, rowid, row.Body, len(r.Payload), row.Digest[:])
	return err
}
