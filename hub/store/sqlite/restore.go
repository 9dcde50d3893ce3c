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

// restoreGap is more than the revisions that hubs may have issued since the backup: a
// billion is four months of a hundred pushes a second.
const restoreGap = 1_000_000_000

// Restore replaces the database at path with a backup's content. The revision is raised
// above all that readers may have seen, and the events begin anew, so that readers who
// follow must read everything again. A backup of an older hub is migrated.
//
// No hub may have the database open. It is replaced in one step once the new one is
// complete. force allows replacing a database that holds anything or is damaged.
//
// # Errors
//
// store.ErrNotEmpty and store.ErrInUse say why path can't be replaced. store.ErrForeign,
// store.ErrNewerSchema and store.ErrCorrupt are faults of the backup or of the present
// database.
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
	defer func() { _ = os.Remove(partial) }() // after success there is nothing to remove
	if err := fetch(ctx, file, partial, newest); err != nil {
		return fmt.Errorf("restore %s: %w", file, clarify(err))
	}
	// Files that the damaged database left must not be taken for the new one's.
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

// usable reports whether the database is a hub's, undamaged, and not newer than this build.
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

// replaceable reports whether the database at path may be replaced, and returns the newest
// revision that it has issued.
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
	// No other process may have it open: each connection holds a lock while the journal is
	// a WAL.
	var mode string
	if err := pool.QueryRowContext(ctx, "PRAGMA journal_mode = DELETE").Scan(&mode); err != nil || mode == "wal" {
		return 0, fmt.Errorf("%w; stop it first", store.ErrInUse)
	}
	return newest, nil
}

// contents refuses a database that holds anything, unless forced.
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

// fetch makes the new database from a backup.
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
	if err := db.prepare(ctx, partial, migrations()); err != nil { // migrates the schema
		return err
	}
	if pool, err = db.connect(partial, 1); err != nil {
		return err
	}
	defer func() { _ = pool.Close() }()
	if _, err := pool.ExecContext(ctx, "UPDATE revision SET value = max(value, $1) + $2", newest, restoreGap); err != nil {
		return err
	}
	for _, statement := range []string{"DELETE FROM events", "UPDATE events_kept SET epoch = lower(hex(randomblob(6)))"} {
		if _, err := pool.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	var mode string // everything in one file
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
