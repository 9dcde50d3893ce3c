package drivers

import (
	"context"
	"strings"

	"waymark/hub/store/postgres"
	"waymark/hub/store/sqlite"
)

// Backup writes a copy of the database that url names into a new file, as it
// is at one moment, while hubs go on. For PostgreSQL that is the work of its
// program pg_dump.
//
// # Errors
//
// ErrURL, and those of the drivers' functions Backup.
func Backup(ctx context.Context, url, file string) error {
	if err := Check(url); err != nil {
		return err
	}
	if path, ok := strings.CutPrefix(url, sqliteScheme); ok {
		return sqlite.Backup(ctx, path, file)
	}
	return postgres.Backup(ctx, url, file)
}

// Restore makes the database that url names what Backup has written into a
// file. No hub may have it open; one that holds anything is replaced only when
// forced. Readers who follow are told to read everything anew.
//
// # Errors
//
// ErrURL, and those of the drivers' functions Restore.
func Restore(ctx context.Context, file, url string, force bool) error {
	if err := Check(url); err != nil {
		return err
	}
	if path, ok := strings.CutPrefix(url, sqliteScheme); ok {
		return sqlite.Restore(ctx, file, path, force)
	}
	return postgres.Restore(ctx, file, url, force)
}
