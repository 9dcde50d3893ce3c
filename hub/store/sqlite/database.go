package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

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

// Wait implements store.Store.
func (db *DB) Wait(ctx context.Context, after int64) (int64, error) {
	return db.newest.Wait(ctx, after, pollEvery, func(ctx context.Context) (revision int64, err error) {
		err = db.read.QueryRowContext(ctx, sqlstore.SelectRevision).Scan(&revision)
		return revision, err
	})
}
