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
	// TextList is a SELECT of the texts in $1, a JSON list.
	TextList string
	// EndedList is a SELECT of the store.EndedSessions in $1, a JSON list.
	EndedList string
	// SaidList is a SELECT of the rows of DescribeAgents in $1, a JSON list.
	SaidList string
	// JoinOne joins the one row of a table, such as "heads h", that a condition selects, by
	// looking it up for each row before.
	JoinOne func(table, condition string) string
	Now     func() time.Time
	// Keep is effective.
	Keep store.Retention
	// Log is how the database has its events.
	Log EventSQL
	// NextRevision is a statement that returns a new revision.
	NextRevision string
	// Lock is a statement that lets others that lock one of the same texts, the list $1, wait
	// until the end of the transaction, before that has written anything; "" where transactions
	// that write wait for each other anyway.
	Lock string
	// Notices are given for what is committed here.
	Notices *Notices
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
