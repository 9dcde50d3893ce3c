package postgres_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waymark/hub/store"
	"waymark/hub/store/postgres"
	"waymark/test/pgtest"
	"waymark/test/testenv"
)

// TestBackupAndRestore backs a database up while it is written to, loses what
// comes later, and brings the copy back: readers learn that nothing they know
// is good any more.
func TestBackupAndRestore(t *testing.T) {
	testenv.NeedsPrograms(t, "pg_dump")
	url, file := pgtest.Database(t), filepath.Join(t.TempDir(), "backup")
	st := open(t, url, postgres.Options{})
	g := session(t, st, "a")
	ctx, cancel := context.WithCancel(t.Context())
	pushes := make(chan uint64)
	go func() {
		defer close(pushes)
		for version := uint64(1); ; version++ {
			if _, err := st.Push(ctx, "a", g, state(version, 5)); err != nil {
				return
			}
			select {
			case pushes <- version:
			case <-ctx.Done():
				return
			}
		}
	}()
	for range 5 {
		<-pushes
	}
	backedUp := make(chan error, 1)
	go func() { backedUp <- postgres.Backup(t.Context(), url, file) }()
	for done := false; !done; {
		select {
		case <-pushes:
		case err := <-backedUp:
			if err != nil {
				t.Fatal(err)
			}
			done = true
		}
	}
	for range 5 { // which are lost
		<-pushes
	}
	cancel()
	for range pushes {
		continue
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the copy: %v, %v", info, err)
	}
	if err := postgres.Backup(t.Context(), url, file); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over another one: %v", err)
	}
	page, err := st.Events(t.Context(), store.Cursor{}, 1000)
	if err != nil || len(page.List) == 0 {
		t.Fatal(page, err)
	}
	seen := page.List[len(page.List)-1]

	if err := postgres.Restore(t.Context(), file, url, true); !errors.Is(err, store.ErrInUse) {
		t.Errorf("while a hub is there: %v", err)
	}
	_ = st.Close()
	until(t, url, "the hub has gone", "SELECT count(*)::int FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'waymark-hub%'",
		func(n int) bool { return n == 0 })
	for range 20 { // a restore is no hub, which its own connections could be taken for
		if err := postgres.Restore(t.Context(), file, url, false); !errors.Is(err, store.ErrNotEmpty) {
			t.Fatalf("not forced: %v", err)
		}
	}
	if err := postgres.Restore(t.Context(), file, url, true); err != nil {
		t.Fatal(err)
	}
	checkRestored(t, url, seen)

	// And into a database that holds nothing.
	fresh := pgtest.Database(t)
	if err := postgres.Restore(t.Context(), file, fresh, false); err != nil {
		t.Fatal(err)
	}
	checkRestored(t, fresh, seen)
}

func checkRestored(t *testing.T, url string, seen store.Event) {
	t.Helper()
	st := open(t, url, postgres.Options{})
	got, err := st.Snapshot(t.Context(), store.Query{AgentID: "a"})
	if err != nil || len(got.Snapshot.Resources) != 5 {
		t.Fatalf("restored: %+v, %v", got, err)
	}
	wantState(t, st, state(got.Snapshot.Version, 5), store.PushResult{Revision: got.Revision})
	for _, after := range []store.Cursor{seen.At, {}} {
		page, err := st.Events(t.Context(), after, 10)
		if err != nil || page.Lost == after.IsZero() || len(page.List) != 0 {
			t.Errorf("after %v: %+v, %v", after, page, err)
		}
	}
	g, _, err := st.BeginSession(t.Context(), "a", "")
	if err != nil {
		t.Fatal(err)
	}
	p := state(1, 1)
	p.Initial = true
	if result, err := st.Push(t.Context(), "a", g, p); err != nil || result.Revision < 1_000_000_000 {
		t.Errorf("the next push: %+v, %v", result, err)
	}
	_ = st.Close()
}

// TestBackupKeepsPasswords: neither an error nor a command line shows one.
func TestBackupKeepsPasswords(t *testing.T) {
	testenv.NeedsPrograms(t, "pg_dump")
	file := filepath.Join(t.TempDir(), "backup")
	for _, url := range []string{"postgres://u:hunter2@127.0.0.1:1/x", "postgres://127.0.0.1:1/x?user=u&password=hunter2"} {
		for name, err := range map[string]error{
			"backup": postgres.Backup(t.Context(), url, file), "restore": postgres.Restore(t.Context(), os.Args[0], url, true),
		} {
			if err == nil || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if err := postgres.Restore(t.Context(), file, pgtest.Database(t), false); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a backup that isn't there: %v", err)
	}
	url := pgtest.Database(t)
	open(t, url, postgres.Options{})
	if err := postgres.Backup(t.Context(), pgtest.Database(t), file); !errors.Is(err, store.ErrForeign) {
		t.Errorf("of nothing: %v", err)
	}
	letter := filepath.Join(t.TempDir(), "letter")
	if err := os.WriteFile(letter, []byte("Dear reader"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := postgres.Restore(t.Context(), letter, pgtest.Database(t), false); err == nil || !strings.Contains(err.Error(), "pg_restore") {
		t.Errorf("no backup: %v", err)
	}
}
