// Package drivers opens the store that a URL names. It is the only package that knows all
// databases; a program that imports it links them all.
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

// ErrURL marks a URL that can never be valid, unlike a database that is unavailable now.
var ErrURL = errors.New("not the URL of a database")

// Options are options for every kind of store. The zero value works.
type Options struct {
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// History determines how much history is kept.
	History store.Retention
	// Existing opens only an existing database of a hub; otherwise the error is
	// store.ErrNone.
	Existing bool
	// Logger receives problems in the background; nil means no log.
	Logger *slog.Logger
}

// Open opens the store that url names, "sqlite:PATH" or a URL of PostgreSQL
// ("postgres://user:password@host:port/database?…"). The caller closes it. Errors never
// contain a password.
//
// # Errors
//
// ErrURL, and those of the drivers' Open functions.
func Open(ctx context.Context, url string, opts Options) (store.Store, error) {
	if err := Check(url); err != nil {
		return nil, err
	}
	if path, ok := strings.CutPrefix(url, sqliteScheme); ok {
		return opened(sqlite.Open(ctx, path, sqlite.Options{Now: opts.Now, History: opts.History, Existing: opts.Existing, Logger: opts.Logger}))
	}
	return opened(postgres.Open(ctx, url, postgres.Options{Now: opts.Now, History: opts.History, Existing: opts.Existing, Logger: opts.Logger}))
}

// opened prevents a nil pointer from becoming a non-nil Store.
func opened[T store.Store](st T, err error) (store.Store, error) {
	if err != nil {
		return nil, err
	}
	return st, nil
}

const sqliteScheme = "sqlite:"

// Check reports whether url can be valid, without accessing anything.
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
	case strings.Contains(rest, "@"): // it may contain a password, so don't repeat it
		return fmt.Errorf("%w: %s:…; want sqlite:PATH or postgres://…", ErrURL, scheme)
	}
	return fmt.Errorf("%w: %q; want sqlite:PATH or postgres://…", ErrURL, url)
}

// Backup writes a consistent copy of the database that url names to a new file, while hubs
// are running. For PostgreSQL, use pg_dump instead.
//
// # Errors
//
// ErrURL, and those of the drivers' Backup functions.
func Backup(ctx context.Context, url, file string) error {
	if err := Check(url); err != nil {
		return err
	}
	if path, ok := strings.CutPrefix(url, sqliteScheme); ok {
		return sqlite.Backup(ctx, path, file)
	}
	return postgres.Backup(ctx, url, file)
}

// Restore replaces the database that url names by a file written by Backup. No hub may have
// it open. If it isn't empty, it is replaced only with force. Readers that follow are told
// to read everything again.
//
// # Errors
//
// ErrURL, and those of the drivers' Restore functions.
func Restore(ctx context.Context, file, url string, force bool) error {
	if err := Check(url); err != nil {
		return err
	}
	if path, ok := strings.CutPrefix(url, sqliteScheme); ok {
		return sqlite.Restore(ctx, file, path, force)
	}
	return postgres.Restore(ctx, file, url, force)
}
