package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	_ "modernc.org/sqlite" // the driver named "sqlite"

	"waymark/hub/store"
	"waymark/hub/store/internal/latest"
	"waymark/hub/store/internal/prune"
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
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// History says how much of the past is kept.
	History store.Retention
	// BusyTimeout is how long a write waits for another process; 0 means 5
	// seconds: far longer than any transaction here takes, short enough to be
	// reported.
	BusyTimeout time.Duration
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
	// latest is told of this process's pushes.
	latest  *latest.Revision
	pruning *prune.Task

	closeOnce sync.Once
	closeErr  error
}

// textList is sqlstore.Core.TextList.
const textList = "SELECT value FROM json_each($1)"

var _ store.Store = (*DB)(nil)

// Open opens the database file at path, creates it if there is none, and
// brings its schema up to date. The caller closes it.
//
// # Errors
//
// store.ErrForeign, store.ErrNewerSchema and store.ErrCorrupt say why a file
// can't be used; it is not changed then.
func Open(ctx context.Context, path string, opts Options) (*DB, error) {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.BusyTimeout <= 0 {
		opts.BusyTimeout = defaultBusyTimeout
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	db := &DB{latest: latest.New(), busy: opts.BusyTimeout}
	db.core = &core{Database: database{db}, TextList: textList, Now: opts.Now, Keep: opts.History.Effective()}
	if err := db.open(ctx, path); err != nil {
		_ = db.Close()
		return nil, fmt.Errorf("open database %s: %w", path, clarify(err))
	}
	db.pruning = prune.Start(db.Prune, opts.Logger)
	return db, nil
}

func (db *DB) open(ctx context.Context, path string) error {
	if err := create(path); err != nil {
		return err
	}
	unlock, err := lockDir(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer unlock()
	if err := db.prepare(ctx, path); err != nil {
		return err
	}
	if db.write, err = db.connect(path, 1, "_txlock=immediate", "_pragma=foreign_keys(1)", "_pragma=synchronous(NORMAL)"); err != nil {
		return err
	}
	if db.read, err = db.connect(path, readers, "_pragma=query_only(1)"); err != nil {
		return err
	}
	return db.read.PingContext(ctx)
}

// create makes the file and its directory, private from the first moment.
func create(path string) error {
	if info, err := os.Stat(path); err == nil {
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%w: not a regular file", store.ErrForeign)
		}
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), dirMode); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, fileMode)
	if os.IsExist(err) { // another process was faster
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// lockDir makes the processes that open a database in dir do so one after the
// other, since two that create the schema at once would trip over each other.
// The lock is on the directory because a file descriptor of the database that
// SQLite doesn't know of would, when closed, drop SQLite's own locks.
func lockDir(dir string) (unlock func(), err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	return func() { _ = f.Close() }, nil
}

// connect opens a pool of at most conns connections.
func (db *DB) connect(path string, conns int, params ...string) (*sql.DB, error) {
	u := url.URL{Scheme: "file", Path: path}
	u.RawQuery = fmt.Sprintf("mode=rw&_pragma=busy_timeout(%d)", db.busy.Milliseconds())
	for _, p := range params {
		u.RawQuery += "&" + p
	}
	pool, err := sql.Open("sqlite", u.String())
	if err != nil {
		return nil, err
	}
	pool.SetMaxOpenConns(conns)
	pool.SetMaxIdleConns(conns)
	return pool, nil
}

// Close implements store.Store.
func (db *DB) Close() error {
	db.closeOnce.Do(func() {
		db.latest.Close()
		db.pruning.Close()
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
