package hub

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"waymark/hub/store"
	"waymark/hub/store/sqlite"
)

// Databases are the kinds of databases that a hub can use: those of package
// hub/store/drivers, or some of them. The zero value is only SQLite, which is sufficient
// for an embedded hub.
type Databases struct {
	// Check reports whether a --db flag can be valid, without accessing anything.
	Check func(db string) error
	// Open opens a database.
	Open func(ctx context.Context, db string, opts StoreOptions) (store.Store, error)
	// Backup writes a copy of a database to a new file; nil means that there are no backups.
	Backup func(ctx context.Context, db, file string) error
}

// StoreOptions are options for every kind of store.
type StoreOptions struct {
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Logger receives problems in the background; nil means no log.
	Logger *slog.Logger
}

func (d *Databases) setDefaults() {
	if d.Check == nil || d.Open == nil {
		d.Check, d.Open, d.Backup = checkSQLite, openSQLite, backupSQLite
	}
}

func openSQLite(ctx context.Context, db string, opts StoreOptions) (store.Store, error) {
	if err := checkSQLite(db); err != nil {
		return nil, err
	}
	st, err := sqlite.Open(ctx, strings.TrimPrefix(db, "sqlite:"), sqlite.Options{Now: opts.Now, Logger: opts.Logger})
	if err != nil { // avoid a non-nil interface with a nil pointer
		return nil, err
	}
	return st, nil
}

func backupSQLite(ctx context.Context, db, file string) error {
	return sqlite.Backup(ctx, strings.TrimPrefix(db, "sqlite:"), file)
}

func checkSQLite(db string) error {
	scheme, path, _ := strings.Cut(db, ":")
	switch {
	case scheme == "sqlite" && path != "":
		return nil
	case strings.Contains(path, "@"): // it may contain a password, so don't repeat it
		return usagef("--db %s:…: this program knows SQLite only; want sqlite:PATH", scheme)
	}
	return usagef("--db %q: want sqlite:PATH", db)
}

// StateDir returns the default directory for a hub's files: $XDG_STATE_HOME/waymark, or
// ~/.local/state/waymark.
func StateDir() (string, error) {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "waymark"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("find the state directory: %w; set XDG_STATE_HOME", err)
	}
	return filepath.Join(home, ".local", "state", "waymark"), nil
}

// DefaultDB returns the default of --db.
func DefaultDB() (string, error) {
	dir, err := StateDir()
	if err != nil {
		return "", err
	}
	return "sqlite:" + filepath.Join(dir, "hub.db"), nil
}

// DatabaseName returns a value of --db for people, who may use it elsewhere: with an
// absolute path, and without a password.
func DatabaseName(db string) string {
	if path, ok := strings.CutPrefix(db, "sqlite:"); ok {
		if abs, err := filepath.Abs(path); err == nil {
			path = abs
		}
		return "sqlite:" + path
	}
	scheme, _, _ := strings.Cut(db, ":")
	u, err := url.Parse(db)
	if err != nil || u.Host == "" && u.Path == "" { // the position of a password is unknown
		return scheme + ":…"
	}
	if u.User != nil {
		u.User = url.User(u.User.Username())
	}
	query := u.Query()
	query.Del("password")
	query.Del("sslpassword")
	u.RawQuery = query.Encode()
	return u.String()
}

// DefaultDRPC returns the default of --drpc: hub.sock in
// $XDG_RUNTIME_DIR/waymark, or in the state directory.
func DefaultDRPC() (string, error) {
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		return "unix:" + filepath.Join(dir, "waymark", "hub.sock"), nil
	}
	dir, err := StateDir()
	if err != nil {
		return "", err
	}
	return "unix:" + filepath.Join(dir, "hub.sock"), nil
}
