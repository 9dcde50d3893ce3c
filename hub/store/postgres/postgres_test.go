package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"waymark/hub/store"
	"waymark/hub/store/postgres"
	"waymark/test/contracts/storetest"
	"waymark/test/pgtest"
	"waymark/test/testenv"
)

func TestMain(m *testing.M) {
	storetest.KillChild(func(url string) (store.Store, error) {
		return postgres.Open(context.Background(), url, postgres.Options{History: storetest.WorkHistory})
	})
	pgtest.Main(m)
}

// database is a place for a database, for the suites.
func database(t testing.TB) storetest.Database {
	return at(pgtest.Database(t))
}

func at(url string) storetest.Database {
	return storetest.Database{
		Open: func(t testing.TB, c storetest.Config) store.Store {
			return open(t, url+longTimeouts, postgres.Options{Now: c.Now, History: c.History})
		},
		Count: func(t testing.TB, table string) int { return query[int](t, url, "SELECT count(*) FROM "+table) },
	}
}

// query returns the one value that a statement answers.
func query[T any](t testing.TB, url, statement string) (value T) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if err := conn.QueryRow(t.Context(), statement).Scan(&value); err != nil {
		t.Fatal(err)
	}
	return value
}

// until asks the server on one connection, again and again and not without a
// pause, until it gets the answer.
func until(t testing.TB, url, what, statement string, ok func(int) bool) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	for {
		var n int
		if err := conn.QueryRow(ctx, statement).Scan(&n); err != nil {
			t.Fatalf("wait until %s: %v", what, err)
		}
		if ok(n) {
			return
		}
		if _, err := conn.Exec(ctx, "SELECT pg_sleep(0.002)"); err != nil {
			t.Fatalf("wait until %s: %v", what, err)
		}
	}
}

func open(t testing.TB, url string, opts postgres.Options) *postgres.DB {
	t.Helper()
	db, err := postgres.Open(t.Context(), url, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func TestConformance(t *testing.T) { storetest.Run(t, database) }

func TestRandom(t *testing.T) {
	storetest.RunRandom(t, database, testenv.Rand(t), testenv.Rounds(200, 600, 40_000))
}

func TestKill(t *testing.T) {
	url := pgtest.Database(t)
	storetest.RunKill(t, at(url), url, testenv.Rand(t))
}
