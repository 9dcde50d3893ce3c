package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"waymark/host/snapshot"
	"waymark/hub/store"
)

// view runs f in a read transaction, so that its queries see one state.
func (db *DB) view(ctx context.Context, f func(*sql.Tx) error) error {
	tx, err := db.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return clarify(err)
	}
	return errors.Join(clarify(f(tx)), rollback(tx))
}

// Agents implements store.Store.
func (db *DB) Agents(ctx context.Context) ([]store.AgentInfo, error) {
	rows, err := db.read.QueryContext(ctx,
		`SELECT a.id, a.name, a.created_at, s.version, s.aggregate_hash, s.resources, s.revision, s.received_at
		 FROM agents a LEFT JOIN snapshots s ON s.agent_id = a.id ORDER BY a.id`)
	if err != nil {
		return nil, fmt.Errorf("list agents: %w", err)
	}
	defer rows.Close()
	var agents []store.AgentInfo
	for rows.Next() {
		var a store.AgentInfo
		var created int64
		var version, count, revision, received sql.NullInt64
		var hash []byte
		if err := rows.Scan(&a.ID, &a.Name, &created, &version, &hash, &count, &revision, &received); err != nil {
			return nil, fmt.Errorf("list agents: %w", err)
		}
		a.CreatedAt, a.UpdatedAt = toTime(created), nullTime(received)
		a.Version, a.Resources, a.Revision = uint64(version.Int64), int(count.Int64), revision.Int64 //nolint:gosec // >= 0 by CHECK
		a.AggregateHash = toHash(hash)
		agents = append(agents, a)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("list agents: %w", err)
	}
	return agents, nil
}

// toHash returns nil for an empty hash.
func toHash(b []byte) snapshot.Hash {
	if len(b) == 0 {
		return nil
	}
	return b
}

// Snapshot implements store.Store.
func (db *DB) Snapshot(ctx context.Context, agentID string) (store.StoredSnapshot, error) {
	var s store.StoredSnapshot
	err := db.view(ctx, func(tx *sql.Tx) error {
		if err := readHead(ctx, tx, agentID, &s); err != nil {
			return err
		}
		return readRows(ctx, tx, agentID, &s.Snapshot)
	})
	if err != nil {
		return store.StoredSnapshot{}, fmt.Errorf("read snapshot: %w", err)
	}
	return s, nil
}

func readHead(ctx context.Context, tx *sql.Tx, agentID string, s *store.StoredSnapshot) error {
	var version, received, revision sql.NullInt64
	var hash []byte
	var text, plugins sql.NullString
	err := tx.QueryRowContext(ctx,
		`SELECT s.version, s.aggregate_hash, s.snapshot_error, s.plugins, s.received_at, s.revision
		 FROM agents a LEFT JOIN snapshots s ON s.agent_id = a.id WHERE a.id = ?`, agentID).
		Scan(&version, &hash, &text, &plugins, &received, &revision)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return &store.NotFoundError{What: "agent", ID: agentID}
	case err != nil:
		return err
	case !version.Valid:
		return &store.NotFoundError{What: "snapshot", ID: agentID}
	}
	s.Snapshot.Version = uint64(version.Int64) //nolint:gosec // >= 0 by CHECK
	s.Snapshot.AggregateHash = toHash(hash)
	s.Snapshot.SnapshotError = text.String
	s.ReceivedAt, s.Revision = nullTime(received), revision.Int64
	return json.Unmarshal([]byte(plugins.String), &s.Snapshot.Plugins)
}

func readRows(ctx context.Context, tx *sql.Tx, agentID string, s *snapshot.Snapshot) error {
	rows, err := tx.QueryContext(ctx,
		`SELECT kind, source, key, source_path, name, description, status, error, stale,
		   content_hash, size_bytes, resolver, attributes, payload, payload IS NOT NULL
		 FROM resources WHERE agent_id = ? ORDER BY id`, agentID)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var r snapshot.Resource
		var hash []byte
		var attributes string
		var hasPayload bool
		err := rows.Scan((*string)(&r.Kind), &r.Source, &r.Key, &r.SourcePath, &r.Name, &r.Description,
			(*string)(&r.Status), &r.Error, &r.Stale, &hash, &r.SizeBytes, &r.Resolver, &attributes, &r.Payload, &hasPayload)
		if err != nil {
			return err
		}
		r.ContentHash = toHash(hash)
		r.Payload = toPayload(r.Payload, hasPayload)
		if attributes != "{}" {
			if err := json.Unmarshal([]byte(attributes), &r.Attributes); err != nil {
				return err
			}
		}
		s.PayloadBytes += int64(len(r.Payload))
		s.Resources = append(s.Resources, r)
	}
	return rows.Err()
}

// ResourceBody implements store.Store.
func (db *DB) ResourceBody(ctx context.Context, agentID, resourceID string) ([]byte, error) {
	var payload []byte
	var hasPayload bool
	err := db.read.QueryRowContext(ctx,
		"SELECT payload, payload IS NOT NULL FROM resources WHERE agent_id = ? AND id = ?", agentID, resourceID).Scan(&payload, &hasPayload)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, &store.NotFoundError{What: "resource", ID: resourceID}
	case err != nil:
		return nil, fmt.Errorf("read resource: %w", clarify(err))
	case !hasPayload:
		return nil, &store.NotFoundError{What: "payload", ID: resourceID}
	}
	return toPayload(payload, true), nil
}

// toPayload tells an empty payload from none, which the driver doesn't: it
// returns nil for both.
func toPayload(b []byte, exists bool) []byte {
	if exists && b == nil {
		return []byte{}
	}
	return b
}
