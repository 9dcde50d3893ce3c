package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"waymark/hub/store"
	"waymark/hub/store/sqlite"
	"waymark/internal/credential"
	"waymark/snapshot"
	"waymark/test/contracts/storetest"
	"waymark/test/testenv"
)

func TestMain(m *testing.M) {
	storetest.KillChild(func(path string) (store.Store, error) {
		return sqlite.Open(context.Background(), path, sqlite.Options{History: storetest.WorkHistory})
	})
	os.Exit(m.Run())
}

func open(t *testing.T, path string) *sqlite.DB {
	t.Helper()
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// database is a place for a database, for the suites.
func database(t testing.TB) storetest.Database {
	return at(filepath.Join(t.TempDir(), "hub.db"))
}

func at(path string) storetest.Database {
	return storetest.Database{
		Open: func(t testing.TB, c storetest.Config) store.Store {
			// Several hubs write at once, and SQLite lets none of them wait in a queue.
			db, err := sqlite.Open(t.Context(), path, sqlite.Options{Now: c.Now, History: c.History, BusyTimeout: 5 * time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = db.Close() })
			return db
		},
		Count: func(t testing.TB, table string) int { return int(value(t, path, "SELECT count(*) FROM "+table)) },
	}
}

// value returns the one number that a statement answers.
func value(t testing.TB, path, statement string) (n int64) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRow(statement).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestConformance(t *testing.T) { storetest.Run(t, database) }

func TestRandom(t *testing.T) {
	storetest.RunRandom(t, database, testenv.Rand(t), testenv.Rounds(200, 600, 40_000))
}

func TestKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hub.db")
	storetest.RunKill(t, at(path), path, testenv.Rand(t))
}

func TestModes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state", "waymark")
	path := filepath.Join(dir, "a b?#%.db")
	db := open(t, path)
	if _, err := db.CreateToken(t.Context(), store.NewToken{Role: store.RoleReader, Hash: credential.HashOf("x")}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]os.FileMode{dir: 0o700, path: 0o600, path + "-wal": 0o600} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %o, want %o", name, got, want)
		}
	}
}

func TestRestartKeepsEverything(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hub.db")
	now := time.Date(2026, 1, 2, 3, 4, 5, 6789, time.UTC)
	var before store.StoredSnapshot
	var generation int64
	hash := credential.HashOf("secret")
	for round := range 2 {
		db, err := sqlite.Open(t.Context(), path, sqlite.Options{Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		if round == 0 {
			if _, err := db.CreateToken(t.Context(), store.NewToken{Role: store.RoleAgent, AgentID: "a", Hash: hash}); err != nil {
				t.Fatal(err)
			}
			generation, _, _ = db.BeginSession(t.Context(), "a", "")
			push := store.Push{Snapshot: snapshot.Snapshot{Version: 4, Resources: []snapshot.Resource{{Kind: "skill", Source: "/s", Payload: []byte("p")}}}}
			if _, err := db.Push(t.Context(), "a", generation, push); err != nil {
				t.Fatal(err)
			}
			before, err = db.Snapshot(t.Context(), store.Query{AgentID: "a"})
			if err != nil {
				t.Fatal(err)
			}
			if want := now.Truncate(time.Microsecond); !before.ReceivedAt.Equal(want) {
				t.Errorf("received at %v, want %v", before.ReceivedAt, want)
			}
		} else {
			after, err := db.Snapshot(t.Context(), store.Query{AgentID: "a"})
			if err != nil || fmt.Sprint(after) != fmt.Sprint(before) {
				t.Errorf("after the restart: %v, %v; want %v", after, err, before)
			}
			if token, err := db.TokenByHash(t.Context(), hash); err != nil || token.AgentID != "a" {
				t.Errorf("token: %+v, %v", token, err)
			}
			if g, _, err := db.BeginSession(t.Context(), "a", ""); err != nil || g <= generation {
				t.Errorf("generation %d follows %d, %v", g, generation, err)
			}
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestNoTokenInFile looks for the text of a token in the bytes on disk.
func TestNoTokenInFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hub.db")
	db := open(t, path)
	text := credential.ReaderToken.New()
	if _, err := db.CreateToken(t.Context(), store.NewToken{Role: store.RoleReader, Hash: credential.HashOf(text)}); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(data), text) {
		t.Error("the token is in the database file")
	}
}

func TestUnusable(t *testing.T) {
	for name, tc := range map[string]struct {
		make func(t *testing.T, path string)
		want error
		text string
	}{
		"text file":  {func(t *testing.T, p string) { write(t, p, strings.Repeat("hello, I am a letter\n", 400)) }, store.ErrForeign, "isn't a SQLite file"},
		"foreign":    {func(t *testing.T, p string) { exec(t, p, "CREATE TABLE songs (x)") }, store.ErrForeign, "another program"},
		"foreign id": {func(t *testing.T, p string) { exec(t, p, "PRAGMA application_id = 7") }, store.ErrForeign, "another program"},
		"newer": {func(t *testing.T, p string) {
			made(t, p)
			exec(t, p, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, 1)")
		}, store.ErrNewerSchema, "version 99"},
		"other": {func(t *testing.T, p string) {
			made(t, p)
			exec(t, p, "UPDATE waymark_schema SET digest = 'abcdef0123456789'")
		}, store.ErrOtherSchema, "its schema is abcdef01, this hub's is "},
		"before digests": {func(t *testing.T, p string) { made(t, p); exec(t, p, "DROP TABLE waymark_schema") }, store.ErrOtherSchema, "begin anew"},
		"no versions":    {func(t *testing.T, p string) { made(t, p); exec(t, p, "DROP TABLE goose_db_version") }, store.ErrCorrupt, "restore"},
		"overwritten":    {overwrite, store.ErrCorrupt, "restore"},
		"truncated":      {func(t *testing.T, p string) { made(t, p); truncate(t, p) }, store.ErrCorrupt, "restore"},
		"directory":      {func(t *testing.T, p string) { mkdir(t, p) }, store.ErrForeign, "regular file"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "hub.db")
			tc.make(t, path)
			before, _ := os.ReadFile(path)
			db, err := sqlite.Open(t.Context(), path, sqlite.Options{})
			if err == nil {
				_ = db.Close()
				t.Fatal("opened")
			}
			if !errors.Is(err, tc.want) || !strings.Contains(err.Error(), tc.text) || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error: %v", err)
			}
			if after, _ := os.ReadFile(path); string(after) != string(before) {
				t.Error("the file was changed")
			}
		})
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func mkdir(t *testing.T, path string) {
	t.Helper()
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
}

func made(t *testing.T, path string) {
	t.Helper()
	if err := open(t, path).Close(); err != nil {
		t.Fatal(err)
	}
}

func exec(t *testing.T, path, query string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(query); err != nil {
		t.Fatal(err)
	}
}

func overwrite(t *testing.T, path string) {
	made(t, path)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := 4096; i < len(data); i++ {
		data[i] = 0xa5
	}
	write(t, path, string(data))
}

func truncate(t *testing.T, path string) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, info.Size()/2/4096*4096); err != nil {
		t.Fatal(err)
	}
}
