package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/pressly/goose/v3"
	driver "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"waymark/hub/store"
	"waymark/hub/store/internal/sqlstore"
)

// applicationID marks a hub's database in the file header ("WYMK"), so that another
// program's database is never migrated by mistake.
const applicationID = 0x57594d4b

//go:embed migrations/*.sql
var embedded embed.FS

// migrations returns the steps of the schema. Once released, a step never changes: further
// changes of the schema are files with the next number.
func migrations() fs.FS {
	dir, err := fs.Sub(embedded, "migrations")
	if err != nil {
		panic(err) // the name is no path: a mistake in this function
	}
	return dir
}

// prepare checks that the file is a hub's database or empty, switches it to WAL and
// migrates its schema. It writes nothing before all checks are done.
func (db *DB) prepare(ctx context.Context, path string, migrations fs.FS) error {
	pool, err := db.connect(path, 1, "_txlock=immediate", "_pragma=foreign_keys(1)")
	if err != nil {
		return err
	}
	defer func() { _ = pool.Close() }()
	empty, err := identify(ctx, pool)
	if err != nil {
		return err
	}
	if !empty {
		if err := checkPages(ctx, pool); err != nil {
			return err
		}
	}
	schema := sqlstore.NewSchema(migrations)
	provider, err := schema.Provider(goose.DialectSQLite3, pool)
	if err != nil {
		return err
	}
	if !empty {
		if err := checkVersion(ctx, pool, schema, provider); err != nil {
			return err
		}
	}
	for _, pragma := range []string{
		fmt.Sprintf("PRAGMA application_id = %d", applicationID),
		"PRAGMA journal_mode = WAL",
	} {
		if _, err := pool.ExecContext(ctx, pragma); err != nil {
			return err
		}
	}
	if err := schema.Apply(ctx, pool, provider); err != nil {
		return err
	}
	return writeBoot(ctx, pool)
}

// identify reports whether the database is empty, and refuses one that isn't a hub's.
func identify(ctx context.Context, db *sql.DB) (empty bool, err error) {
	var id, objects int64
	if err := db.QueryRowContext(ctx, "PRAGMA application_id").Scan(&id); err != nil {
		return false, err
	}
	if err := db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_master").Scan(&objects); err != nil {
		return false, err
	}
	switch {
	case id == applicationID:
		return objects == 0, nil
	case id == 0 && objects == 0:
		return true, nil
	}
	return false, fmt.Errorf("%w: it is a SQLite database of another program; name another file", store.ErrForeign)
}

// checkPages checks for damage. It reads the whole file, which takes milliseconds for a
// hub's few megabytes.
func checkPages(ctx context.Context, db *sql.DB) error {
	var verdict string
	if err := db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&verdict); err != nil {
		return err
	}
	if verdict != "ok" {
		verdict = strings.Join(strings.Fields(verdict), " ") // it has several lines
		return fmt.Errorf("%w (%s); restore a backup, or move it away to begin anew", store.ErrCorrupt, verdict)
	}
	return nil
}

// checkVersion refuses a schema that this build doesn't know.
func checkVersion(ctx context.Context, db *sql.DB, schema sqlstore.Schema, provider *goose.Provider) error {
	var tables int
	err := db.QueryRowContext(ctx,
		"SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?", goose.DefaultTablename).Scan(&tables)
	if err != nil {
		return err
	}
	if tables == 0 {
		return fmt.Errorf("%w: it has no schema version; restore a backup, or move it away to begin anew", store.ErrCorrupt)
	}
	return schema.Check(ctx, db, provider)
}

// bootGap is more than the revisions that a crash of the machine can lose: the WAL is
// synced whenever it is folded, at the latest after foldAtOnce pages, and a push writes
// several pages.
const bootGap = 1_000_000

// writeBoot raises the revision, and the events' number, if the machine was booted since the database was last
// opened. A crash may have lost the last pushes after they were read, and their readers
// would mistake new ones of the same numbers for known ones. It does nothing on a
// system without a boot id.
func writeBoot(ctx context.Context, pool *sql.DB) error {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	boot := strings.TrimSpace(string(id))
	if err != nil || boot == "" {
		return nil //nolint:nilerr // not Linux
	}
	result, err := pool.ExecContext(ctx,
		`UPDATE revision SET boot = $1, value = CASE WHEN boot = '' OR value = 0 THEN value ELSE value + $2 END
		 WHERE boot <> $1`, boot, bootGap)
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return err
	}
	_, err = pool.ExecContext(ctx, "UPDATE sqlite_sequence SET seq = seq + $1 WHERE name = 'events'", bootGap)
	return err
}

// clarify turns SQLite's errors about an unusable file into those of package store.
func clarify(err error) error {
	var se *driver.Error
	if !errors.As(err, &se) || errors.Is(err, store.ErrCorrupt) {
		return err
	}
	switch se.Code() & 0xff {
	case sqlite3.SQLITE_NOTADB:
		return fmt.Errorf("%w: it isn't a SQLite file; name another file (%w)", store.ErrForeign, err)
	case sqlite3.SQLITE_CORRUPT:
		return fmt.Errorf("%w; restore a backup, or move it away to begin anew (%w)", store.ErrCorrupt, err)
	case sqlite3.SQLITE_BUSY:
		return fmt.Errorf("%w: another process has been writing for too long; stop it or try again (%w)", store.ErrAway, err)
	case sqlite3.SQLITE_FULL:
		return fmt.Errorf("%w: the disk is full (%w)", store.ErrAway, err)
	case sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY:
		return fmt.Errorf("%w: %w", store.ErrAway, err)
	}
	return err
}
