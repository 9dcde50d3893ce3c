package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"waymark/hub/store"
	"waymark/hub/store/internal/sqlstore"
)

// database implements sqlstore.Database for a DB.
type database struct{ db *DB }

var _ sqlstore.Database = database{}

// Read implements sqlstore.Database.
func (d database) Read(ctx context.Context, f func(sqlstore.Tx) error) error {
	err := clarify(f(runner{reader{d.db.asked}}))
	d.db.asked.learn(ctx)
	return err
}

// View implements sqlstore.Database.
func (d database) View(ctx context.Context, f func(sqlstore.Tx) error) error {
	tx, err := d.db.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return clarify(err)
	}
	err = errors.Join(clarify(f(runner{&transaction{tx: tx, known: d.db.asked}})), rollback(tx))
	d.db.asked.learn(ctx)
	return err
}

// Update implements sqlstore.Database.
func (d database) Update(ctx context.Context, f func(sqlstore.Tx) error) error {
	return d.db.changes.do(ctx, &job{run: func(_ context.Context, tx *transaction) error { return f(runner{tx}) }})
}

// runner is the common part of a pool and a transaction of database/sql.
type runner struct {
	inner interface {
		QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
		ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	}
}

// Query implements sqlstore.Tx.
func (r runner) Query(ctx context.Context, query string, args ...any) (sqlstore.Rows, error) {
	rows, err := r.inner.QueryContext(ctx, query, args...) //nolint:rowserrcheck // sqlstore does it
	if err != nil {
		return nil, err
	}
	return closer{rows}, nil
}

// Exec implements sqlstore.Tx.
func (r runner) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	result, err := r.inner.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// closer is *sql.Rows with a Close without a result: Err has returned any error.
type closer struct{ rows *sql.Rows }

func (c closer) Next() bool             { return c.rows.Next() }
func (c closer) Scan(dest ...any) error { return c.rows.Scan(dest...) }
func (c closer) Err() error             { return c.rows.Err() }
func (c closer) Close()                 { _ = c.rows.Close() }

// pollEvery is how soon Wait sees pushes of another process to the same file. It sees those
// of its own process at once.
const pollEvery = time.Second

// Wait implements store.Following.
func (db *DB) Wait(ctx context.Context, after store.Cursor) error {
	return db.notices.Wait(ctx, after.Heard, pollEvery)
}

// Writable implements store.Store.
func (db *DB) Writable(ctx context.Context) error {
	return db.changes.do(ctx, &job{run: func(ctx context.Context, tx *transaction) error {
		_, err := tx.ExecContext(ctx, sqlstore.Touch)
		return err
	}})
}

// Condition implements store.Store: no transaction is slow, and there is one clock.
func (db *DB) Condition(context.Context) (store.Condition, error) {
	return store.Condition{ClockOff: db.clock.off()}, nil
}

// Prune implements store.Store. After a jump of the clock nothing's age is known.
func (db *DB) Prune(ctx context.Context) error {
	if db.clock.off() != 0 {
		return nil
	}
	return db.core.Prune(ctx)
}

const nextRevision = "UPDATE revision SET value = value + 1 RETURNING value"

// eventSQL needs no transactions: only one writes at a time, so that all that is visible is
// settled.
var eventSQL = sqlstore.EventSQL{
	Now:    `SELECT k.epoch, 0, k.n, 0, max(k.n, coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'events'), 0)), '' FROM events_kept k`,
	Page:   "SELECT 0, e.n, " + sqlstore.EventColumns + "$1 = 0 AND $3 = 0 AND e.n > $2" + sqlstore.EventListed + " ORDER BY e.n LIMIT $4",
	Oldest: "SELECT 0, n, at FROM events ORDER BY n LIMIT $1",
	Delete: "DELETE FROM events WHERE $1 = 0 AND n <= $2",
	Floor:  "UPDATE events_kept SET n = $2 WHERE $1 = 0",
}
