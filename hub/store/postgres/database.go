package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"waymark/hub/store"
	"waymark/hub/store/internal/sqlstore"
	"waymark/internal/await"
)

// database implements sqlstore.Database for a DB.
type database struct{ db *DB }

var _ sqlstore.Database = database{}

// Read implements sqlstore.Database.
func (d database) Read(ctx context.Context, f func(sqlstore.Tx) error) error {
	return d.db.try(ctx, func(ctx context.Context, conn *pgxpool.Conn) error { return f(runner{conn}) })
}

// View implements sqlstore.Database.
func (d database) View(ctx context.Context, f func(sqlstore.Tx) error) error {
	return d.db.transact(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, f)
}

// Update implements sqlstore.Database.
func (d database) Update(ctx context.Context, f func(sqlstore.Tx) error) error {
	return d.db.transact(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, f)
}

func (db *DB) transact(ctx context.Context, opts pgx.TxOptions, f func(sqlstore.Tx) error) error {
	return db.try(ctx, func(ctx context.Context, conn *pgxpool.Conn) error {
		return pgx.BeginTxFunc(ctx, conn, opts, func(tx pgx.Tx) error { return f(runner{tx}) })
	})
}

const (
	// Ten tries with pauses of 20 ms to a second take some five seconds, which a server
	// needs to restart after a crash.
	tries      = 10
	firstPause = 20 * time.Millisecond
	lastPause  = time.Second
)

// try runs f with a connection. It runs f again after a transient error or a lost
// connection. In the latter case it is unknown what f has done.
func (db *DB) try(ctx context.Context, f func(context.Context, *pgxpool.Conn) error) error {
	limited, cancel := context.WithTimeout(ctx, operationTimeout)
	defer cancel()
	pauses := await.Backoff{Shortest: firstPause, Longest: lastPause, Jitter: true}
	for n := 1; ; n++ {
		again, err := db.once(limited, f)
		if again && n < tries && await.Sleep(limited, pauses.Next()) == nil {
			continue
		}
		var failed *pgconn.ConnectError
		switch {
		case err == nil || ctx.Err() != nil:
		case limited.Err() != nil:
			return fmt.Errorf("%w within %v: %w", store.ErrAway, operationTimeout, clarify(err))
		case again || errors.As(err, &failed):
			return fmt.Errorf("%w: %w", store.ErrAway, clarify(err))
		}
		return clarify(err)
	}
}

// once runs f and reports whether to try again.
func (db *DB) once(ctx context.Context, f func(context.Context, *pgxpool.Conn) error) (again bool, err error) {
	conn, err := db.pool.Acquire(ctx)
	if err != nil {
		var failed *pgconn.ConnectError
		return errors.As(err, &failed) && (code(err) == "" || passes(err)), err
	}
	defer conn.Release()
	if err = f(ctx, conn); err == nil {
		return false, nil
	}
	if code(err) == readOnlyTransaction {
		db.pool.Reset() // all connections are to the former primary
	}
	return passes(err) || conn.Conn().IsClosed(), err
}

// runner is the common part of a connection and a transaction.
type runner struct {
	inner interface {
		Query(ctx context.Context, query string, args ...any) (pgx.Rows, error)
		Exec(ctx context.Context, query string, args ...any) (pgconn.CommandTag, error)
	}
}

// Query implements sqlstore.Tx.
func (r runner) Query(ctx context.Context, query string, args ...any) (sqlstore.Rows, error) {
	return r.inner.Query(ctx, query, args...) //nolint:sqlclosecheck // sqlstore does it
}

// Exec implements sqlstore.Tx.
func (r runner) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	tag, err := r.inner.Exec(ctx, query, args...)
	return tag.RowsAffected(), err
}
