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

// update runs f in a write transaction.
func (db *DB) update(ctx context.Context, f func(*sql.Tx) error) error {
	tx, err := db.write.BeginTx(ctx, nil)
	if err != nil {
		return clarify(err)
	}
	if err := f(tx); err != nil {
		return errors.Join(clarify(err), rollback(tx))
	}
	return clarify(tx.Commit())
}

func rollback(tx *sql.Tx) error {
	if err := tx.Rollback(); err != nil && !errors.Is(err, sql.ErrTxDone) {
		return err
	}
	return nil
}

// BeginSession implements store.Store.
func (db *DB) BeginSession(ctx context.Context, agentID string) (int64, error) {
	var generation int64
	err := db.update(ctx, func(tx *sql.Tx) error {
		return tx.QueryRowContext(ctx,
			"UPDATE agents SET generation = generation + 1 WHERE id = ? RETURNING generation", agentID).Scan(&generation)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return 0, &store.NotFoundError{What: "agent", ID: agentID}
	}
	if err != nil {
		return 0, fmt.Errorf("begin session: %w", err)
	}
	return generation, nil
}

// Push implements store.Store.
func (db *DB) Push(ctx context.Context, agentID string, generation int64, push store.Push) (store.PushResult, error) {
	var result store.PushResult
	if err := store.CheckPush(&push); err != nil {
		return result, fmt.Errorf("push: %w", err)
	}
	err := db.update(ctx, func(tx *sql.Tx) error {
		var err error
		result, err = db.push(ctx, tx, agentID, generation, &push)
		return err
	})
	if err != nil {
		return store.PushResult{}, fmt.Errorf("push: %w", err)
	}
	return result, nil
}

func (db *DB) push(ctx context.Context, tx *sql.Tx, agentID string, generation int64, push *store.Push) (store.PushResult, error) {
	var newest int64
	var version, revision sql.NullInt64
	err := tx.QueryRowContext(ctx,
		`SELECT a.generation, s.version, s.revision FROM agents a
		 LEFT JOIN snapshots s ON s.agent_id = a.id WHERE a.id = ?`, agentID).Scan(&newest, &version, &revision)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return store.PushResult{}, &store.NotFoundError{What: "agent", ID: agentID}
	case err != nil:
		return store.PushResult{}, err
	case generation != newest:
		return store.PushResult{}, store.ErrSuperseded
	case version.Valid && !push.Initial && int64(push.Snapshot.Version) <= version.Int64: //nolint:gosec // CheckPush bounds it
		return store.PushResult{Revision: revision.Int64}, nil
	}
	var next int64
	err = tx.QueryRowContext(ctx, "UPDATE revision SET value = value + 1 RETURNING value").Scan(&next)
	if err != nil {
		return store.PushResult{}, err
	}
	w := writer{tx: tx, agentID: agentID, revision: next, now: db.stamp()}
	if err := w.head(ctx, &push.Snapshot); err != nil {
		return store.PushResult{}, err
	}
	if err := w.rows(ctx, push.Snapshot.Resources); err != nil {
		return store.PushResult{}, err
	}
	return store.PushResult{Accepted: true, Revision: next}, nil
}

// writer writes one accepted push within its transaction.
type writer struct {
	tx       *sql.Tx
	agentID  string
	revision int64
	now      int64
}

func (w *writer) head(ctx context.Context, s *snapshot.Snapshot) error {
	plugins, err := json.Marshal(s.Plugins)
	if err != nil {
		return err
	}
	_, err = w.tx.ExecContext(ctx,
		`INSERT INTO snapshots (agent_id, version, aggregate_hash, snapshot_error, plugins, resources, received_at, revision)
		 VALUES (?, ?, ?, ?, ?, ?, ?, ?)
		 ON CONFLICT (agent_id) DO UPDATE SET
		   version = excluded.version, aggregate_hash = excluded.aggregate_hash,
		   snapshot_error = excluded.snapshot_error, plugins = excluded.plugins,
		   resources = excluded.resources, received_at = excluded.received_at, revision = excluded.revision`,
		w.agentID, int64(s.Version), notNull(s.AggregateHash), s.SnapshotError, //nolint:gosec // CheckPush bounds it
		string(plugins), len(s.Resources), w.now, w.revision)
	return err
}

// notNull keeps an absent hash out of the driver's NULL.
func notNull(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
