package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"waymark/hub/store"
)

// restoreGap is more than the revisions that hubs may have issued since the backup: a
// billion is four months of a hundred pushes a second.
const restoreGap = 1_000_000_000

// Backup makes pg_dump write the hub's schema into a new file: its state at one moment,
// while hubs keep working. The file is for Restore and pg_restore.
//
// # Errors
//
// An existing file is never overwritten: fs.ErrExist. exec.ErrNotFound says that pg_dump
// isn't installed, store.ErrForeign that the database isn't a hub's. Errors never contain a
// password.
func Backup(ctx context.Context, rawURL, file string) (err error) {
	schema, empty, err := inspect(ctx, rawURL)
	switch {
	case err != nil:
		return fmt.Errorf("back up: %w", err)
	case empty:
		return fmt.Errorf("back up: %w: schema %q is empty", store.ErrForeign, schema)
	}
	place, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("back up: %w", err)
	}
	_ = place.Close() // nothing was written
	// pg_dump writes to another name, and the file is renamed once it is complete.
	partial := file + ".partial"
	err = run(ctx, rawURL, "pg_dump", "--format=custom", "--no-owner", "--no-privileges", "--table="+quote(schema)+".*", "--file="+partial)
	if err == nil {
		err = os.Chmod(partial, 0o600)
	}
	if err == nil {
		err = os.Rename(partial, file)
	}
	if err != nil {
		_ = os.Remove(partial)
		return errors.Join(fmt.Errorf("back up: %w", err), os.Remove(file))
	}
	return nil
}

// Restore makes pg_restore restore a file of Backup into the schema that it came from, in
// one transaction. The revision is raised above all that readers may have seen, and the
// events begin anew, so that readers who follow must read everything again. A backup of an
// older hub is migrated.
//
// No hub may have the database open. With force, a schema that holds anything is replaced.
//
// # Errors
//
// store.ErrNotEmpty and store.ErrInUse say why the database can't be replaced,
// exec.ErrNotFound that pg_restore isn't installed. Errors never contain a password.
func Restore(ctx context.Context, file, rawURL string, force bool) error {
	if err := restore(ctx, file, rawURL, force); err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	return nil
}

func restore(ctx context.Context, file, rawURL string, force bool) error {
	if _, err := os.Stat(file); err != nil {
		return err
	}
	_, empty, err := inspect(ctx, rawURL)
	if err != nil {
		return err
	}
	newest := int64(0)
	if !empty {
		if newest, err = replaceable(ctx, rawURL, force); err != nil {
			return err
		}
	}
	args := []string{"--single-transaction", "--exit-on-error", "--no-owner", "--no-privileges"}
	if !empty {
		args = append(args, "--clean", "--if-exists")
	}
	if err := run(ctx, rawURL, "pg_restore", append(args, file)...); err != nil {
		return err
	}
	db, err := Open(ctx, rawURL, Options{}) // migrates the schema
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err = db.pool.Exec(ctx, "SELECT setval('revision', greatest(nextval('revision'), $1) + $2)", newest, int64(restoreGap)); err != nil {
		return clarify(err)
	}
	return clarify(beginEpoch(ctx, db.pool, ""))
}

// inspect returns the schema that the URL selects, and whether it is empty.
func inspect(ctx context.Context, rawURL string) (schema string, empty bool, err error) {
	conn, err := dial(ctx, rawURL)
	if err != nil {
		return "", false, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if err := checkServer(ctx, conn); err != nil {
		return "", false, err
	}
	if empty, err = identify(ctx, conn); err != nil {
		return "", false, err
	}
	return schema, empty, conn.QueryRow(ctx, "SELECT current_schema()::text").Scan(&schema)
}

// replaceable reports whether the hub's database may be replaced, and returns the newest
// revision that it has issued.
func replaceable(ctx context.Context, rawURL string, force bool) (newest int64, err error) {
	conn, err := dial(ctx, rawURL)
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	var things, hubs int64
	err = conn.QueryRow(ctx,
		`SELECT (SELECT count(*) FROM agents) + (SELECT count(*) FROM tokens), (SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM revision),
		   (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'waymark-hub%')`).
		Scan(&things, &newest, &hubs)
	switch {
	case err != nil:
		return 0, clarify(err)
	case hubs > 0:
		return 0, fmt.Errorf("%w; stop it first", store.ErrInUse)
	case (things > 0 || newest > 0) && !force:
		return 0, fmt.Errorf("%w: it has agents or tokens", store.ErrNotEmpty)
	}
	return newest, nil
}

func dial(ctx context.Context, rawURL string) (*pgx.Conn, error) {
	config, err := configure(rawURL, 0)
	if err != nil {
		return nil, err
	}
	// Not a hub's name: a closed connection stays in the server's list for a moment, and
	// replaceable would take it for a hub.
	config.ConnConfig.RuntimeParams["application_name"] = "waymark-copy"
	conn, err := connect(ctx, config.ConnConfig)
	if err != nil {
		return nil, clarify(err)
	}
	return conn, nil
}

// run runs one of PostgreSQL's programs. The password is passed in its environment, because
// all users of the machine can read a command line.
func run(ctx context.Context, rawURL, program string, args ...string) error {
	path, err := exec.LookPath(program)
	if err != nil {
		return fmt.Errorf("%w: install PostgreSQL's client programs (Debian's postgresql-client), of the server's version or newer", err)
	}
	target, password, err := forLibpq(rawURL)
	if err != nil {
		return err
	}
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, path, append([]string{"--no-password", "--dbname=" + target}, args...)...) //nolint:gosec // a program of PostgreSQL's, with arguments of ours
	cmd.Env, cmd.Stderr = os.Environ(), &stderr
	if password != "" {
		cmd.Env = append(cmd.Env, "PGPASSWORD="+password)
	}
	if err := cmd.Run(); err != nil {
		text := strings.Join(strings.Fields(stderr.String()), " ")
		if password != "" {
			text = strings.ReplaceAll(text, password, "[password]")
		}
		return fmt.Errorf("%s: %w: %.1000s", program, err, text)
	}
	return nil
}

// libpqParameters are the URL parameters for connecting that libpq knows. The others are
// pgx's, or settings of the session.
var libpqParameters = []string{
	"host", "hostaddr", "port", "user", "dbname", "passfile", "service", "connect_timeout", "sslmode", "sslrootcert", "sslcert", "sslkey", "sslcrl",
	"target_session_attrs", "options",
}

// forLibpq returns the URL without parameters unknown to libpq, and the password.
func forLibpq(rawURL string) (target, password string, err error) {
	config, err := pgxpool.ParseConfig(rawURL)
	if err != nil {
		return "", "", err
	}
	u, err := url.Parse(rawURL)
	if err != nil { // the error quotes the URL
		return "", "", errors.New("the database's URL can't be read")
	}
	query, kept := u.Query(), url.Values{}
	for _, name := range libpqParameters {
		if query.Has(name) {
			kept.Set(name, query.Get(name))
		}
	}
	u.RawQuery = kept.Encode()
	if u.User != nil {
		if _, set := u.User.Password(); set {
			password = config.ConnConfig.Password
		}
		u.User = url.User(u.User.Username())
	} else if query.Has("password") {
		password = query.Get("password")
	}
	return u.String(), password, nil
}

// quote quotes an identifier for a pattern of pg_dump's.
func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
