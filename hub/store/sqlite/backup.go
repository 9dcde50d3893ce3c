package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Backup writes a copy of the database file at path into a new file: as it was
// at one moment, while hubs go on reading and writing. It is a database like
// any other, of mode 0600, and takes no more room than it needs.
//
// # Errors
//
// An existing file is never overwritten: fs.ErrExist. store.ErrForeign,
// store.ErrNewerSchema and store.ErrCorrupt are said of the database.
func Backup(ctx context.Context, path, file string) (err error) {
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("back up: %w", err)
	}
	// The name is taken first, and becomes the copy when that is whole: a
	// half-written one never looks like a backup.
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

// touch makes an empty file that only its owner can read, in the place of one
// that an earlier try may have left.
func touch(file string) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, fileMode)
	if err != nil {
		return err
	}
	return errors.Join(f.Chmod(fileMode), f.Close())
}

// copyInto has SQLite write all of the database into an empty file, in one
// read transaction, which holds up no writer.
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

// syncFile makes a file, or what is said of files in a directory, last.
func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
