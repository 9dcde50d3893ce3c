package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// serverVariable names a server to use instead of one that is started.
const serverVariable = "WAYMARK_TEST_POSTGRES"

// timeout is for what takes moments on a fast machine.
const timeout = 5 * time.Minute

// shared is the server of this test binary, started when a test first needs
// one.
var shared struct {
	once   sync.Once
	server *Server // nil: WAYMARK_TEST_POSTGRES is used, or it can't be had
	url    string
	err    error

	mu   sync.Mutex // guards what follows
	made []string   // names of the databases
	free []string   // those of them that no test uses
}

// Main runs the tests of a binary and stops the server that they have
// started. It doesn't return.
func Main(m *testing.M) { Exit(m.Run()) }

// Exit stops the server when the tests have run, and ends the process.
func Exit(code int) {
	if shared.server != nil {
		shared.server.stop()
	} else if err := drop(); err != nil {
		fmt.Fprintf(os.Stderr, "databases not dropped: %v\n", err)
	}
	os.Exit(code)
}

// Database returns the URL of an empty database, which no other test uses
// until this one ends.
func Database(t testing.TB) string {
	t.Helper()
	skipShort(t)
	shared.once.Do(func() {
		if shared.url = os.Getenv(serverVariable); shared.url != "" {
			return
		}
		if shared.server, shared.err = start(Options{}); shared.err == nil {
			shared.url = shared.server.URL("postgres")
		}
	})
	check(t, shared.err)
	name, err := take()
	if err != nil {
		t.Fatal(err)
	}
	u, err := named(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// Emptied and used again: making one takes a third of a second.
		if err := exec(u, alone, "DROP SCHEMA public CASCADE", "CREATE SCHEMA public"); err != nil {
			t.Errorf("empty the database: %v", err)
			return
		}
		shared.mu.Lock()
		defer shared.mu.Unlock()
		shared.free = append(shared.free, name)
	})
	return u
}

// alone ends all other connections to the database and returns when they have
// ended, also those that were closed a moment ago: the next test would find
// them there.
const alone = `DO $$ BEGIN LOOP
	PERFORM pg_stat_clear_snapshot();
	PERFORM pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid();
	EXIT WHEN NOT FOUND;
	PERFORM pg_sleep(0.002);
END LOOP; END $$`

// take returns the name of a free database, and makes one if there is none.
func take() (name string, err error) {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if last := len(shared.free) - 1; last >= 0 {
		name, shared.free = shared.free[last], shared.free[:last]
		return name, nil
	}
	name = fmt.Sprintf("waymark_test_%d_%d", os.Getpid(), len(shared.made)+1)
	if err := exec(shared.url, "CREATE DATABASE "+name+" TEMPLATE template0 ENCODING 'UTF8'"); err != nil {
		return "", err
	}
	shared.made = append(shared.made, name)
	return name, nil
}

// drop removes the databases from a server that isn't ours.
func drop() error {
	var statements []string
	for _, name := range shared.made {
		statements = append(statements, "DROP DATABASE "+name+" WITH (FORCE)")
	}
	if len(statements) == 0 {
		return nil
	}
	return exec(shared.url, statements...)
}

// named is the server's URL with that database.
func named(database string) (string, error) {
	u, err := url.Parse(shared.url)
	if err != nil {
		return "", errors.New(serverVariable + " is not a URL")
	}
	u.Path = "/" + database
	return u.String(), nil
}

// skipShort skips a test in the short form, which needs no other programs.
func skipShort(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("needs PostgreSQL")
	}
}

// check skips a test for which there is no server, or fails it.
func check(t testing.TB, err error) {
	t.Helper()
	switch {
	case err == nil:
	case os.Getenv("WAYMARK_REQUIRE_ALL") != "":
		t.Fatalf("WAYMARK_REQUIRE_ALL is set, and there is no PostgreSQL: %v", err)
	case errors.Is(err, errMissing), errors.Is(err, errRoot):
		t.Skipf("needs PostgreSQL: %v", err)
	default: // it is there, and doesn't work
		t.Fatal(err)
	}
}

// Exec runs statements in the database that the URL names.
func Exec(t testing.TB, url string, statements ...string) {
	t.Helper()
	if err := exec(url, statements...); err != nil {
		t.Fatal(err)
	}
}

func exec(url string, statements ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	for _, statement := range statements {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}
