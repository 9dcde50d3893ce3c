package sqlite

import (
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"syscall"

	"waymark/hub/store"
)

// create creates the file and its directory, private from the start.
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

// lockDir serializes the processes that open a database in dir, because two that create the
// schema at once would conflict. The lock is on the directory: closing any other descriptor
// of the database file would drop SQLite's own locks.
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
	path, err := filepath.Abs(path) // a relative path would be taken for a host
	if err != nil {
		return nil, err
	}
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
