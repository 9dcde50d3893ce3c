// Package drivers opens the store that a URL names: the one place that knows
// which databases there are. A program that imports it links them all.
package drivers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"waymark/hub/store"
	"waymark/hub/store/postgres"
	"waymark/hub/store/sqlite"
)

// ErrURL marks an error of a URL that can't be right, as opposed to a
// database that can't be had now.
var ErrURL = errors.New("not the URL of a database")

// Options are for every kind of store. The zero value works.
type Options struct {
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// History says how much of the past is kept.
	History store.Retention
	// Existing opens what a hub has made, and makes nothing: store.ErrNone.
	Existing bool
	// Logger gets what goes wrong in the background; nil means none.
	Logger *slog.Logger
}

// Open opens the store that url names, "sqlite:PATH" or a URL of PostgreSQL
// ("postgres://user:password@host:port/database?…"). The caller closes it.
// Errors never hold a password.
//
// # Errors
//
// ErrURL, and those of the drivers' functions Open.
func Open(ctx context.Context, url string, opts Options) (store.Store, error) {
	if err := Check(url); err != nil {
		return nil, err
	}
	if path, ok := strings.CutPrefix(url, sqliteScheme); ok {
		return opened(sqlite.Open(ctx, path, sqlite.Options{Now: opts.Now, History: opts.History, Existing: opts.Existing, Logger: opts.Logger}))
	}
	return opened(postgres.Open(ctx, url, postgres.Options{Now: opts.Now, History: opts.History, Existing: opts.Existing, Logger: opts.Logger}))
}

// opened keeps a nil pointer from becoming a Store that isn't nil.
func opened[T store.Store](st T, err error) (store.Store, error) {
	if err != nil {
		return nil, err
	}
	return st, nil
}

const sqliteScheme = "sqlite:"

// Check reports whether url can be right, without touching anything.
func Check(url string) error {
	scheme, rest, found := strings.Cut(url, ":")
	switch {
	case !found || rest == "":
	case scheme == "sqlite":
		return nil
	case scheme == "postgres" || scheme == "postgresql":
		if err := postgres.Check(url); err != nil {
			return fmt.Errorf("%w: %w", ErrURL, err)
		}
		return nil
	case strings.Contains(rest, "@"): // not repeated: it may hold a password
		return fmt.Errorf("%w: %s:…; want sqlite:PATH or postgres://…", ErrURL, scheme)
	}
	return fmt.Errorf("%w: %q; want sqlite:PATH or postgres://…", ErrURL, url)
}

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
