package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"sync"

	driver "modernc.org/sqlite"
)

const (
	// foldPages is how many pages are written before the WAL is folded into the
	// database: what SQLite itself takes for it.
	foldPages = 1000
	// foldAtOnce is how long the WAL becomes, in pages, before a commit folds it: a
	// hub that never has a moment's rest doesn't get to the WAL's end otherwise, and
	// a WAL can only begin anew when all of it is folded. It is 32 MiB.
	foldAtOnce = 8192
)

// fold folds the WAL into the database, beside the transactions: it waits for the
// disk, which those don't have to.
type fold struct {
	write, read *sql.DB
	log         *slog.Logger

	// Of the goroutine that commits: the pages that were written when it was begun
	// last.
	begun int

	busy sync.Mutex // held while the WAL is being folded
	runs sync.WaitGroup
}

func newFold(write, read *sql.DB, log *slog.Logger) *fold {
	log = cmp.Or(log, slog.New(slog.DiscardHandler))
	return &fold{write: write, read: read, log: log}
}

// committed is called after each transaction, by one goroutine.
func (f *fold) committed() {
	pages, err := f.pages()
	if err != nil || pages-f.begun < foldPages {
		return // without a number, the commits fold
	}
	if !f.busy.TryLock() {
		return
	}
	f.begun = pages
	f.runs.Go(func() {
		defer f.busy.Unlock()
		// What can't be folded now, for a reader, is by the next one.
		if _, err := f.read.ExecContext(context.Background(), "PRAGMA wal_checkpoint(PASSIVE)"); err != nil {
			f.log.Warn("WAL not folded", slog.Any("error", err))
		}
	})
}

// pages is how many the writing connection has written.
func (f *fold) pages() (pages int, err error) {
	conn, err := f.write.Conn(context.Background())
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close() }() // gives it back
	err = conn.Raw(func(c any) error {
		status, ok := c.(driver.DBStatus)
		if !ok {
			return errors.ErrUnsupported
		}
		pages, _, err = status.Status(driver.DBStatusCacheWrite, false)
		return err
	})
	return pages, err
}

// close waits for what is under way. committed isn't called any more.
func (f *fold) close() { f.runs.Wait() }
