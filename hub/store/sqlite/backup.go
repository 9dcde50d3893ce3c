package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Backup writes a copy of the database file at path into a new file: its state at one
// moment, while hubs keep reading and writing. The copy is an ordinary database of mode
// 0600, and takes no more room than it needs.
//
// # Errors
//
// An existing file is never overwritten: fs.ErrExist. The database's own faults are
// store.ErrForeign, store.ErrNewerSchema and store.ErrCorrupt.
func Backup(ctx context.Context, path, file string) (err error) {
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("back up: %w", err)
	}
	// The name is reserved first, and gets the copy once it is complete: a half-written one
	// never looks like a backup.
	place, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return fmt.Errorf("back up: %w", err)
	}
	partial := file + ".partial"
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("back up %s: %w", path, clarify(err)), os.Remove(file))
			_ = os.Remove(partial)
		}
	}()
	if err := place.Close(); err != nil {
		return err
	}
	if err := touch(partial); err != nil {
		return err
	}
	if err := copyInto(ctx, path, partial); err != nil {
		return err
	}
	if err := syncFile(partial); err != nil {
		return err
	}
	if err := os.Rename(partial, file); err != nil {
		return err
	}
	return syncFile(filepath.Dir(file))
}

// touch creates an empty file that only its owner can read, replacing one that an earlier
// attempt may have left.
func touch(file string) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, fileMode)
	if err != nil {
		return err
	}
	return errors.Join(f.Chmod(fileMode), f.Close())
}

// copyInto makes SQLite write the whole database into an empty file, in one read
// transaction, which blocks no writer.
func copyInto(ctx context.Context, path, file string) error {
	db := &DB{busy: defaultBusyTimeout}
	pool, err := db.connect(path, 1)
	if err != nil {
		return err
	}
	defer func() { _ = pool.Close() }()
	if err := usable(ctx, pool); err != nil {
		return err
	}
	_, err = pool.ExecContext(ctx, "VACUUM INTO ?", file)
	return err
}

// syncFile flushes a file, or a directory's entries, to disk.
func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
