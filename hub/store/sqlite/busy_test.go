package sqlite_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"waymark/hub/store"
	"waymark/hub/store/sqlite"
	"waymark/internal/credential"
	"waymark/snapshot"
)

func pushOne(t *testing.T, db store.Store, generation int64, version uint64) (store.PushResult, error) {
	t.Helper()
	return db.Push(t.Context(), "a", generation, store.Push{Snapshot: snapshot.Snapshot{
		Version: version, Resources: []snapshot.Resource{{Kind: "skill", Source: "/s", Status: snapshot.StatusOK, Payload: []byte{byte(version)}}},
	}})
}

func begin(t *testing.T, db store.Store) int64 {
	t.Helper()
	if _, err := db.CreateToken(t.Context(), store.NewToken{Role: store.RoleAgent, AgentID: "a", Hash: credential.HashOf("a")}); err != nil {
		t.Fatal(err)
	}
	g, _, err := db.BeginSession(t.Context(), "a", "")
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// lock takes the write lock of a database, as another process does, and
// returns what gives it back.
func lock(t *testing.T, path string) (unlock func()) {
	t.Helper()
	db, err := sql.Open("sqlite", path+"?_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	return func() { _ = tx.Rollback() }
}

// TestAnotherWriter has another process write for longer than a push waits,
// and then for not as long.
func TestAnotherWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hub.db")
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{BusyTimeout: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	g := begin(t, db)
	unlock := lock(t, path)
	if _, err := pushOne(t, db, g, 1); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("error is %v", err)
	}
	if _, err := db.Agents(t.Context()); err != nil { // readers don't care
		t.Error(err)
	}
	unlock()
	if result, err := pushOne(t, db, g, 1); err != nil || !result.Accepted {
		t.Errorf("after it: %+v, %v", result, err)
	}

	waiting := open(t, path)
	unlock = lock(t, path)
	done := make(chan error)
	go func() {
		_, err := pushOne(t, waiting, g, 2)
		done <- err
	}()
	unlock()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestCallerGone gives a push up whose caller has.
func TestCallerGone(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "hub.db"))
	g := begin(t, db)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := db.Push(ctx, "a", g, store.Push{Snapshot: snapshot.Snapshot{Version: 1}}); err == nil {
		t.Error("a push without a caller was done")
	}
	if result, err := pushOne(t, db, g, 1); err != nil || result.Revision != 1 {
		t.Errorf("after it: %+v, %v", result, err)
	}
}

// TestAfterReboot opens a database on a machine that was started anew: what
// was acknowledged before may be lost, so its revisions aren't used again.
func TestAfterReboot(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hub.db")
	made(t, path)
	exec(t, path, "UPDATE revision SET boot = 'an earlier one'")
	db := open(t, path) // nothing was pushed yet: nothing can be lost
	g := begin(t, db)
	if result, err := pushOne(t, db, g, 1); err != nil || result.Revision != 1 {
		t.Fatalf("%+v, %v", result, err)
	}
	if result, err := pushOne(t, open(t, path), g, 2); err != nil || result.Revision != 2 {
		t.Fatalf("opened again: %+v, %v", result, err)
	}
	exec(t, path, "UPDATE revision SET boot = 'an earlier one'")
	cursor, err := open(t, path).Newest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for want := range int64(2) {
		db := open(t, path)
		result, err := pushOne(t, db, g, uint64(want)+3)
		if err != nil || result.Revision != 1_000_003+want {
			t.Errorf("after a reboot: %+v, %v", result, err)
		}
		page, err := db.Events(t.Context(), cursor, 10)
		if err != nil || len(page.List) != int(want)+1 || page.List[want].At.N < 1_000_000 {
			t.Errorf("who was away meanwhile gets %+v, %v", page, err)
		}
	}
}

// TestHeardAtOnce hears of a push of its own process without looking for it:
// the clock of synctest stands still unless somebody waits for it.
func TestHeardAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hub.db")
	synctest.Test(t, func(t *testing.T) {
		db := open(t, path)
		g := begin(t, db)
		now, err := db.Newest(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		heard := make(chan error)
		go func() { heard <- db.Wait(t.Context(), now) }()
		synctest.Wait()
		start := time.Now()
		if _, err := pushOne(t, db, g, 1); err != nil {
			t.Fatal(err)
		}
		if err := <-heard; err != nil || time.Since(start) > 0 {
			t.Errorf("heard of it after %v: %v", time.Since(start), err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
}
