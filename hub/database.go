package hub

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"waymark/hub/store"
	"waymark/hub/store/sqlite"
)

// OpenStore opens the database that a --db flag names: "sqlite:PATH". The
// caller closes it.
func OpenStore(ctx context.Context, db string, now func() time.Time) (store.Store, error) {
	path, err := sqlitePath(db)
	if err != nil {
		return nil, err
	}
	return sqlite.Open(ctx, path, sqlite.Options{Now: now})
}

// sqlitePath checks db without touching anything.
func sqlitePath(db string) (string, error) {
	scheme, path, _ := strings.Cut(db, ":")
	switch {
	case scheme == "sqlite" && path != "":
		return path, nil
	case scheme == "postgres" || scheme == "postgresql":
		// The URL may hold a password: it isn't repeated.
		return "", usagef("--db postgres: PostgreSQL is not in this build yet; use sqlite:PATH")
	}
	return "", usagef("--db %q: want sqlite:PATH", db)
}

// StateDir returns the directory that holds a hub's files when nothing else
// is said: $XDG_STATE_HOME/waymark, or ~/.local/state/waymark.
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
