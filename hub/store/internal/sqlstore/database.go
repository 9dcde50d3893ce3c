package sqlstore

import (
	"context"
	"errors"
	"time"

	"waymark/hub/store"
)

// Tx runs statements.
type Tx interface {
	Query(ctx context.Context, query string, args ...any) (Rows, error)
	Exec(ctx context.Context, query string, args ...any) (affected int64, err error)
}

// Rows are the rows of an answer.
type Rows interface {
	Next() bool
	Scan(dest ...any) error
	Err() error
	Close()
}

// Database is what a driver gives. f may be called several times; nothing of
// a call that came before another counts.
type Database interface {
	// Read runs f, which only reads, each of its statements for itself.
	Read(ctx context.Context, f func(Tx) error) error
	// View runs f, which only reads, on one state of the database: in a
	// transaction.
	View(ctx context.Context, f func(Tx) error) error
	// Update runs f in a transaction and commits it when f returns nil.
	Update(ctx context.Context, f func(Tx) error) error
}

// Core implements most of store.Store on a Database.
type Core struct {
	Database Database
	// TextList is a SELECT of the texts in $1, a JSON list: the one thing that
	// the two databases call by different names.
	TextList string
	Now      func() time.Time
	// Keep is effective.
	Keep store.Retention
	// Newest gets the revisions that are made here.
	Newest *Revision
	// Notify is a statement that announces a revision to other hubs; "" for
	// none.
	Notify string
}

// Stamp is now as it is stored.
func (c *Core) Stamp() int64 { return c.Now().UnixMicro() }

// errNoRow says that a query answered no row.
var errNoRow = errors.New("no row")

// one reads the one row that a query answers, or errNoRow.
func one(ctx context.Context, tx Tx, query string, args []any, dest ...any) error {
	found := false
	err := each(ctx, tx, query, args, func(rows Rows) error {
		found = true
		return rows.Scan(dest...)
	})
	if err == nil && !found {
		return errNoRow
	}
	return err
}

// each calls f for every row.
func each(ctx context.Context, tx Tx, query string, args []any, f func(Rows) error) error {
	rows, err := tx.Query(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := f(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// toTime is a time as it is stored.
func toTime(micros int64) time.Time { return time.UnixMicro(micros).UTC() }

// nullTime is a time that may be NULL.
func nullTime(micros *int64) time.Time {
	if micros == nil {
		return time.Time{}
	}
	return toTime(*micros)
}
