package postgres_test

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"waymark/hub/store"
	"waymark/hub/store/postgres"
	"waymark/internal/credential"
	"waymark/snapshot"
	"waymark/test/pgtest"
)

// TestClock: a hub whose clock is wrong says so, keeps the history, and has the same times as
// the others.
func TestClock(t *testing.T) {
	url := pgtest.Database(t)
	right := open(t, url, postgres.Options{})
	for name, off := range map[string]time.Duration{"ahead": 40 * 24 * time.Hour, "behind": -800 * time.Hour} {
		wrong := open(t, url, postgres.Options{Local: func() time.Time { return time.Now().Add(off) }})
		if got, err := wrong.Condition(t.Context()); err != nil || (got.ClockOff+off).Abs() > time.Minute {
			t.Errorf("%s: the database is ahead by %v, %v", name, got.ClockOff, err)
		}
		if _, err := right.CreateToken(t.Context(), store.NewToken{Role: store.RoleAgent, AgentID: name, Hash: credential.HashOf(name)}); err != nil {
			t.Fatal(err)
		}
		for i, db := range []*postgres.DB{right, right, wrong, right} {
			g, _, err := db.BeginSession(t.Context(), name, "")
			if err != nil {
				t.Fatal(err)
			}
			p := store.Push{Initial: true, Snapshot: snapshot.Snapshot{Version: uint64(i), AggregateHash: snapshot.Hash{byte(i)}, SnapshotError: strings.Repeat("x", i)}}
			if _, err := db.Push(t.Context(), name, g, p); err != nil {
				t.Fatal(err)
			}
		}
		if err := wrong.Prune(t.Context()); err != nil {
			t.Fatal(err)
		}
		list, err := right.History(t.Context(), name)
		if err != nil || len(list) != 4 {
			t.Errorf("%s: %d revisions are left of 4, %v", name, len(list), err)
		}
		for _, change := range list {
			if time.Since(change.At).Abs() > time.Minute {
				t.Errorf("%s: a revision is of %s", name, change.At)
			}
		}
	}
}

// TestBehind: of a transaction that holds readers' cursors up is said which it is.
func TestBehind(t *testing.T) {
	url := pgtest.Database(t)
	db := open(t, url, postgres.Options{})
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	if _, err := conn.Exec(t.Context(), "SET application_name = 'a-report'; BEGIN; SELECT pg_current_xact_id()"); err != nil {
		t.Fatal(err)
	}
	behind := func(want bool) {
		t.Helper()
		for { // other tests' transactions come and go
			// Only what was committed since can be behind.
			if err := db.Writable(t.Context()); err != nil {
				t.Fatal(err)
			}
			got, err := db.Condition(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if is := got.Behind > 0 && strings.Contains(got.Holder, "a-report"); is == want {
				return
			}
		}
	}
	behind(true)
	if _, err := conn.Exec(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	behind(false)
}
