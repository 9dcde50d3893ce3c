package sqlstore

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"io/fs"
	"slices"

	"github.com/pressly/goose/v3"

	"waymark/hub/store"
)

// Schema brings databases to the schema of goose migrations. It recognizes a foreign schema
// by a digest in the database.
type Schema struct{ migrations fs.FS }

// NewSchema returns the schema of the files in a directory.
func NewSchema(dir fs.FS) Schema { return Schema{dir} }

// Provider returns goose's provider; dialect is empty if an option brings a store.
func (s Schema) Provider(dialect goose.Dialect, pool *sql.DB, options ...goose.ProviderOption) (*goose.Provider, error) {
	return goose.NewProvider(dialect, pool, s.migrations, append(options, goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))...)
}

// Check refuses a database, which isn't empty, whose schema this build doesn't know.
//
// # Errors
//
// store.ErrNewerSchema, store.ErrOtherSchema.
func (s Schema) Check(ctx context.Context, pool *sql.DB, provider *goose.Provider) error {
	current, target, err := provider.GetVersions(ctx)
	if err != nil {
		return err
	}
	if current > target {
		return fmt.Errorf("%w: its schema is version %d, this hub knows up to %d; use the newer hub", store.ErrNewerSchema, current, target)
	}
	known, err := s.digests(current)
	if err != nil {
		return err
	}
	// A start interrupted between a migration and its digest leaves an older digest, or
	// none.
	var digest string
	err = pool.QueryRowContext(ctx, "SELECT coalesce(max(digest), '') FROM waymark_schema").Scan(&digest)
	if err == nil && (digest == "" || slices.Contains(known, digest)) {
		return nil
	}
	return fmt.Errorf("%w: its schema is %.8s, this hub's is %.8s; use the hub that made it, or name another database to begin anew: "+
		"agents bring their snapshots again, tokens and pins have to be made again", store.ErrOtherSchema, cmp.Or(digest, "unknown"), known[len(known)-1])
}

// Apply runs the missing migrations. The database was checked, or is empty.
func (s Schema) Apply(ctx context.Context, pool *sql.DB, provider *goose.Provider) error {
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	_, target, err := provider.GetVersions(ctx)
	if err != nil {
		return err
	}
	known, err := s.digests(target)
	if err != nil {
		return err
	}
	digest := known[len(known)-1]
	for _, statement := range []string{
		"DELETE FROM waymark_schema WHERE digest <> $1",
		"INSERT INTO waymark_schema (digest) SELECT $1 WHERE NOT EXISTS (SELECT 1 FROM waymark_schema)",
	} {
		if _, err := pool.ExecContext(ctx, statement, digest); err != nil {
			return fmt.Errorf("migrate: %w", err)
		}
	}
	return nil
}

// digests are the schema's digests after each migration up to a version.
func (s Schema) digests(version int64) (list []string, err error) {
	names, err := fs.Glob(s.migrations, "*.sql")
	if err != nil {
		return nil, err
	}
	sum := sha256.New()
	for _, name := range names {
		number, err := goose.NumericComponent(name)
		if err != nil || number > version {
			break
		}
		text, err := fs.ReadFile(s.migrations, name)
		if err != nil {
			return nil, err
		}
		_, _ = fmt.Fprintf(sum, "%s %d\n%s", name, len(text), text)
		list = append(list, hex.EncodeToString(sum.Sum(nil)))
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%w: it has no schema version; restore a backup, or move it away to begin anew", store.ErrCorrupt)
	}
	return list, nil
}
