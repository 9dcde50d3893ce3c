package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/pressly/goose/v3"

	"waymark/hub/store"
	"waymark/hub/store/internal/sqlstore"
)

// restoreGap is more than the revisions that hubs may have given out since the
// backup: a billion is four months of a hundred pushes a second.
const restoreGap = 1_000_000_000

// Restore makes the database at path what a backup holds. The revision moves
// above all that anybody may have seen, and what is below counts as no longer
// kept, so that readers who follow have to read everything anew. A backup
// of an older hub is brought up to date.
//
// No hub may have the database open. It is replaced in one step, when the new
// one is whole; force allows that for one that holds anything, also for one
// that is damaged.
//
// # Errors
//
// store.ErrNotEmpty and store.ErrInUse say why path can't be replaced,
// store.ErrForeign, store.ErrNewerSchema and store.ErrCorrupt what is wrong
// with the backup, or with what is there.
func Restore(ctx context.Context, file, path string, force bool) error {
	path, err := filepath.Abs(path)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), dirMode)
	}
	if err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	unlock, err := lockDir(filepath.Dir(path)) // no hub opens it meanwhile
	if err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	defer unlock()
	newest, err := replaceable(ctx, path, force)
	if err != nil {
		return fmt.Errorf("restore into %s: %w", path, clarify(err))
	}
	partial := path + ".restored"
	defer func() { _ = os.Remove(partial) }() // gone when all is well
	if err := fetch(ctx, file, partial, newest); err != nil {
		return fmt.Errorf("restore %s: %w", file, clarify(err))
	}
	// What the damaged one may have left is nothing of the new one's.
	for _, suffix := range []string{"-wal", "-shm", "-journal"} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("restore: %w", err)
		}
	}
	if err := os.Rename(partial, path); err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	return syncFile(filepath.Dir(path))
}

// usable reports whether the database is a hub's, whole, and not newer than this
// build.
func usable(ctx context.Context, pool *sql.DB) error {
	empty, err := identify(ctx, pool)
	if err != nil {
		return err
	}
	if empty {
		return fmt.Errorf("%w: it is empty", store.ErrForeign)
	}
	if err := checkPages(ctx, pool); err != nil {
		return err
	}
	schema := sqlstore.NewSchema(migrations())
	provider, err := schema.Provider(goose.DialectSQLite3, pool)
	if err != nil {
		return err
	}
	return checkVersion(ctx, pool, schema, provider)
}

// replaceable reports whether what is at path may go, and returns the newest
// revision that it has given out.
func replaceable(ctx context.Context, path string, force bool) (newest int64, err error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0, nil
	case err != nil:
		return 0, err
	case !info.Mode().IsRegular():
		return 0, fmt.Errorf("%w: not a regular file", store.ErrForeign)
	case info.Size() == 0:
		return 0, nil
	}
	db := &DB{busy: defaultBusyTimeout}
	pool, err := db.connect(path, 1)
	if err != nil {
		return 0, err
	}
	defer func() { _ = pool.Close() }()
	if newest, err = contents(ctx, pool, force); err != nil {
		if force && errors.Is(clarify(err), store.ErrCorrupt) {
			return 0, nil
		}
		return 0, err
	}
	// Nobody else may have it open: each connection holds a lock for as long
	// as the journal is a WAL.
	var mode string
	if err := pool.QueryRowContext(ctx, "PRAGMA journal_mode = DELETE").Scan(&mode); err != nil || mode == "wal" {
		return 0, fmt.Errorf("%w; stop it first", store.ErrInUse)
	}
	return newest, nil
}

// contents refuses a database that holds anything, unless it is forced.
func contents(ctx context.Context, pool *sql.DB, force bool) (newest int64, err error) {
	if empty, err := identify(ctx, pool); empty || err != nil {
		return 0, err
	}
	if err := usable(ctx, pool); err != nil {
		return 0, err
	}
	var things int64
	err = pool.QueryRowContext(ctx, "SELECT (SELECT count(*) FROM agents) + (SELECT count(*) FROM tokens), value FROM revision").Scan(&things, &newest)
	if err == nil && (things > 0 || newest > 0) && !force {
		err = fmt.Errorf("%w: it has agents or tokens", store.ErrNotEmpty)
	}
	return newest, err
}

// fetch makes of a backup what is to take the database's place.
func fetch(ctx context.Context, file, partial string, newest int64) error {
	if err := copyFile(file, partial); err != nil {
		return err
	}
	db := &DB{busy: defaultBusyTimeout}
	pool, err := db.connect(partial, 1)
	if err != nil {
		return err
	}
	err = usable(ctx, pool)
	if err := errors.Join(err, pool.Close()); err != nil {
		return err
	}
	if err := db.prepare(ctx, partial, migrations()); err != nil { // brings the schema up to date
		return err
	}
	if pool, err = db.connect(partial, 1); err != nil {
		return err
	}
	defer func() { _ = pool.Close() }()
	if _, err := pool.ExecContext(ctx, "UPDATE revision SET value = max(value, $1) + $2, floor = max(value, $1) + $2", newest, restoreGap); err != nil {
		return err
	}
	var mode string // all of it in the one file
	if err := pool.QueryRowContext(ctx, "PRAGMA journal_mode = DELETE").Scan(&mode); err != nil {
		return err
	}
	if !strings.EqualFold(mode, "delete") {
		return fmt.Errorf("the journal's mode is still %s", mode)
	}
	if err := pool.Close(); err != nil {
		return err
	}
	return syncFile(partial)
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	if info, err := in.Stat(); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%w: not a regular file", store.ErrForeign)
	}
	if err := touch(to); err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY, fileMode)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
