package postgres

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	goosedb "github.com/pressly/goose/v3/database"

	"waymark/hub/store"
	"waymark/hub/store/internal/sqlstore"
)

//go:embed migrations/*.sql
var migrations embed.FS

const (
	// versionTable isn't goose's default, because another program may use that in the same
	// schema.
	versionTable = "waymark_schema_version"
	// migrateLock is a number that other programs are unlikely to lock: the SQLite store's
	// application id.
	migrateLock = 0x57594d4b
	// oldestServer has all features used here, and is maintained or was until recently.
	oldestServer = 130000
)

// prepare checks that the schema is a hub's or empty, and migrates it, one hub at a time.
// existing refuses an empty one.
func prepare(ctx context.Context, config *pgx.ConnConfig, existing bool) error {
	conn, err := connect(ctx, config)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }() // this also unlocks
	if err := checkServer(ctx, conn); err != nil {
		return err
	}
	// Another hub may be migrating for longer than a statement may take.
	for _, statement := range []string{"SET statement_timeout = 0", "SET lock_timeout = 0"} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return err
		}
	}
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1, hashtext(current_schema()))", migrateLock); err != nil {
		return err
	}
	empty, err := identify(ctx, conn)
	if err != nil {
		return err
	}
	if empty && existing {
		return store.ErrNone
	}
	unlimited := config.Copy()
	unlimited.RuntimeParams["statement_timeout"] = "0"
	pool := stdlib.OpenDB(*unlimited)
	defer func() { _ = pool.Close() }()
	if err := migrate(ctx, pool, empty); err != nil {
		return err
	}
	return checkCluster(ctx, conn)
}

func migrate(ctx context.Context, pool *sql.DB, empty bool) error {
	dir, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	versions, err := goosedb.NewStore(goosedb.DialectPostgres, versionTable)
	if err != nil {
		return err
	}
	schema := sqlstore.NewSchema(dir)
	provider, err := schema.Provider("", pool, goose.WithStore(versions))
	if err != nil {
		return err
	}
	if !empty {
		if err := schema.Check(ctx, pool, provider); err != nil {
			return err
		}
	}
	return schema.Apply(ctx, pool, provider)
}

func checkServer(ctx context.Context, conn *pgx.Conn) error {
	var version int
	var encoding string
	var schema *string
	err := conn.QueryRow(ctx,
		"SELECT current_setting('server_version_num')::int, current_setting('server_encoding'), current_schema()::text").
		Scan(&version, &encoding, &schema)
	switch {
	case err != nil:
		return err
	case version < oldestServer:
		return fmt.Errorf("PostgreSQL %d is too old, 13 is the oldest that will do", version/10000)
	case encoding != "UTF8":
		return fmt.Errorf("the database's encoding is %s; make one with CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0", encoding)
	case schema == nil:
		return errors.New("no schema of the search path exists; CREATE SCHEMA one, or change search_path in the URL")
	}
	return nil
}

// identify reports whether the schema is empty, and refuses one that isn't a
// hub's. Tables that belong to an extension don't count.
func identify(ctx context.Context, conn *pgx.Conn) (empty bool, err error) {
	const query = `SELECT count(*), count(*) FILTER (WHERE c.relname = $1), current_schema()::text
		FROM pg_class c
		WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')
		  AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')`
	var tables, versions int
	var schema string
	if err := conn.QueryRow(ctx, query, versionTable).Scan(&tables, &versions, &schema); err != nil {
		return false, err
	}
	if tables > 0 && versions == 0 {
		return false, fmt.Errorf("%w: its schema %q holds tables of another program; name an empty database, or an empty schema with search_path in the URL",
			store.ErrForeign, schema)
	}
	return tables == 0, nil
}
