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
	// foldPages is how many pages are written before the WAL is folded into the database (a
	// checkpoint): SQLite's own default.
	foldPages = 1000
	// foldAtOnce is the length of the WAL, in pages, at which a commit folds it. A hub
	// without idle moments otherwise never reaches the WAL's end, and a WAL can only
	// restart when all of it is folded. It is 32 MiB.
	foldAtOnce = 8192
)

// fold folds the WAL into the database beside the transactions, which so don't wait for the
// disk.
type fold struct {
	write, read *sql.DB
	log         *slog.Logger

	// Only for the committing goroutine: the number of pages written when the last folding
	// began.
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
		// What a reader prevents from being folded now is folded the next time.
		if _, err := f.read.ExecContext(context.Background(), "PRAGMA wal_checkpoint(PASSIVE)"); err != nil {
			f.log.Warn("WAL not folded", slog.Any("error", err))
		}
	})
}

// pages returns how many pages the writing connection has written.
func (f *fold) pages() (pages int, err error) {
	conn, err := f.write.Conn(context.Background())
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close() }() // returns it to the pool
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

// close waits for a running fold. committed must not be called any more.
func (f *fold) close() { f.runs.Wait() }
