package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	_ "modernc.org/sqlite" // the driver named "sqlite"

	"waymark/hub/store"
	"waymark/hub/store/internal/sqlstore"
)

const (
	defaultBusyTimeout = 5 * time.Second
	// readers is enough for a handful of people and scripts: a read takes
	// milliseconds at most.
	readers = 4

	dirMode  = 0o700
	fileMode = 0o600
)

// Options configure a DB. The zero value works.
type Options struct {
	// Now is the clock; nil means time.Now. Steady is the time since some moment, by which a jump
	// of Now is noticed; nil means the machine's, or none if there is a Now.
	Now    func() time.Time
	Steady func() time.Duration
	// History says how much of the past is kept.
	History store.Retention
	// BusyTimeout is how long a write waits for another process; 0 means 5
	// seconds: far longer than any transaction here takes, short enough to be
	// reported.
	BusyTimeout time.Duration
	// Existing opens what a hub has made, and makes nothing.
	Existing bool
	// Logger gets what goes wrong in the background; nil means none.
	Logger *slog.Logger
}

// core is most of a store.Store.
type core = sqlstore.Core

// DB is a store.Store in a SQLite file.
type DB struct {
	*core
	busy time.Duration
	// write has one connection: the one writer of this process.
	write *sql.DB
	read  *sql.DB
	// written are the statements of write, asked those of read.
	written, asked *statements
	// changes writes, for all.
	changes batches
	heads   heads
	clock   clock
	fold    *fold
	notices *sqlstore.Notices
	pruning *sqlstore.Pruning

	closeOnce sync.Once
	closeErr  error
}

// textList is sqlstore.Core.TextList.
const textList = "SELECT value FROM json_each($1)"

// joinOne is sqlstore.Core.JoinOne.
func joinOne(table, condition string) string { return "JOIN " + table + " ON " + condition }

// endedList is sqlstore.Core.EndedList.
const endedList = "SELECT value ->> 'agent_id' AS agent_id, value ->> 'generation' AS generation, value ->> 'last' AS last FROM json_each($1)"

// saidList is sqlstore.Core.SaidList.
const saidList = "SELECT value ->> 'id' AS id, value ->> 'hostname' AS hostname, value ->> 'hostname_key' AS hostname_key, value ->> 'root' AS root," +
	"value ->> 'root_key' AS root_key, value ->> 'agent_version' AS agent_version, value ->> 'version_key' AS version_key, value ->> 'about' AS about FROM json_each($1)"

var _ store.Store = (*DB)(nil)

// Open opens the database file at path, creates it if there is none, and
// brings its schema up to date. The caller closes it.
//
// # Errors
//
// store.ErrNone says that there is none to open, with Options.Existing.
// store.ErrForeign, store.ErrNewerSchema, store.ErrOtherSchema and store.ErrCorrupt say why a file
// can't be used; it is not changed then.
func Open(ctx context.Context, path string, opts Options) (*DB, error) {
	if opts.Now == nil {
		opts.Now, opts.Steady = time.Now, sinceBoot
	}
	if opts.BusyTimeout <= 0 {
		opts.BusyTimeout = defaultBusyTimeout
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	if info, err := os.Stat(path); opts.Existing && (errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode().IsRegular() && info.Size() == 0) {
		return nil, fmt.Errorf("open database %s: %w", path, store.ErrNone)
	}
	db := &DB{notices: sqlstore.NewNotices(), busy: opts.BusyTimeout, clock: clock{wall: opts.Now, steady: opts.Steady}}
	db.clock.off() // now it is right
	db.changes.db = db
	db.core = &core{Database: sqlstore.Audited(database{db}), TextList: textList, EndedList: endedList, SaidList: saidList, JoinOne: joinOne, Now: opts.Now, Keep: opts.History.Effective(), Notices: db.notices,
		Log: eventSQL, NextRevision: nextRevision}
	if err := db.open(ctx, path, opts.Logger); err != nil {
		_ = db.Close()
		return nil, fmt.Errorf("open database %s: %w", path, clarify(err))
	}
	db.pruning = sqlstore.StartPruning(db.Prune, opts.Logger)
	return db, nil
}

func (db *DB) open(ctx context.Context, path string, log *slog.Logger) error {
	if err := create(path); err != nil {
		return err
	}
	unlock, err := lockDir(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer unlock()
	if err := db.prepare(ctx, path, migrations()); err != nil {
		return err
	}
	if db.write, err = db.connect(path, 1, "_txlock=immediate", "_pragma=foreign_keys(1)", "_pragma=synchronous(NORMAL)",
		fmt.Sprintf("_pragma=wal_autocheckpoint(%d)", foldAtOnce)); err != nil {
		return err
	}
	db.written = newStatements(db.write)
	if db.read, err = db.connect(path, readers, "_pragma=query_only(1)"); err != nil {
		return err
	}
	db.asked = newStatements(db.read)
	db.fold = newFold(db.write, db.read, log)
	return db.read.PingContext(ctx)
}

// Close implements store.Store.
func (db *DB) Close() error {
	db.closeOnce.Do(func() {
		db.notices.Close()
		db.pruning.Close()
		db.changes.close()
		if db.fold != nil {
			db.fold.close()
		}
		// The writer last: the last connection folds the WAL into the file.
		for _, pool := range []*sql.DB{db.read, db.write} {
			if pool == nil {
				continue
			}
			if err := pool.Close(); err != nil && db.closeErr == nil {
				db.closeErr = fmt.Errorf("close database: %w", err)
			}
		}
	})
	return db.closeErr
}
