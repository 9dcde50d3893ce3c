package sqlite_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"waymark/hub/store"
	"waymark/hub/store/sqlite"
	"waymark/snapshot"
)

// state is a push of which each resource says the version.
func state(version uint64) store.Push {
	p := store.Push{Initial: version == 1, Snapshot: snapshot.Snapshot{Version: version}}
	for i := range 20 {
		p.Snapshot.Resources = append(p.Snapshot.Resources, snapshot.Resource{
			Kind: "skill", Source: fmt.Sprintf("/%02d", i), Status: snapshot.StatusOK, Payload: fmt.Append(nil, version),
		})
	}
	return p
}

// whole checks that all of one push is there, and returns its version.
func whole(t *testing.T, st store.Store) uint64 {
	t.Helper()
	got, err := st.Snapshot(t.Context(), store.Query{AgentID: "a"})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range got.Snapshot.Resources {
		if string(r.Payload) != fmt.Sprint(got.Snapshot.Version) {
			t.Fatalf("version %d has %q", got.Snapshot.Version, r.Payload)
		}
	}
	if len(got.Snapshot.Resources) != 20 {
		t.Fatalf("%d resources", len(got.Snapshot.Resources))
	}
	return got.Snapshot.Version
}

// TestBackupWhileServing backs a database up again and again while it is
// written to: each copy is one moment of it, and none holds up a push.
func TestBackupWhileServing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "hub.db")
	db := open(t, path)
	g := begin(t, db)
	var pushing sync.WaitGroup
	stop, first := make(chan struct{}), make(chan struct{})
	pushing.Go(func() {
		for version := uint64(1); ; version++ {
			if result, err := db.Push(t.Context(), "a", g, state(version)); err != nil || !result.Accepted {
				t.Errorf("push %d: %+v, %v", version, result, err)
				return
			}
			if version == 1 {
				close(first)
			}
			select {
			case <-stop:
				return
			default:
			}
		}
	})
	<-first
	last := uint64(0)
	for i := range 5 {
		file := filepath.Join(dir, fmt.Sprint("backup-", i))
		if err := sqlite.Backup(t.Context(), path, file); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(file)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the copy: %v, %v", info, err)
		}
		restored := filepath.Join(dir, fmt.Sprint("restored-", i))
		if err := sqlite.Restore(t.Context(), file, restored, false); err != nil {
			t.Fatal(err)
		}
		again := open(t, restored)
		version := whole(t, again)
		if version < last {
			t.Errorf("copy %d has version %d, the one before %d", i, version, last)
		}
		last = version
		if tokens, err := again.Tokens(t.Context()); err != nil || len(tokens) != 1 {
			t.Errorf("tokens: %v, %v", tokens, err)
		}
		if result, err := again.Push(t.Context(), "a", begunAgain(t, again), store.Push{Initial: true, Snapshot: snapshot.Snapshot{Version: 1}}); err != nil || !result.Accepted {
			t.Errorf("a push into the copy: %+v, %v", result, err)
		}
	}
	close(stop)
	pushing.Wait()
	if left, _ := filepath.Glob(filepath.Join(dir, "*.partial")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func begunAgain(t *testing.T, db store.Store) int64 {
	t.Helper()
	g, _, err := db.BeginSession(t.Context(), "a", "")
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// backup makes a database with a push and a copy of it.
func backup(t *testing.T, version uint64) (path, file string) {
	t.Helper()
	dir := t.TempDir()
	path, file = filepath.Join(dir, "hub.db"), filepath.Join(dir, "backup")
	db := open(t, path)
	if _, err := db.Push(t.Context(), "a", begin(t, db), state(version)); err != nil {
		t.Fatal(err)
	}
	if err := sqlite.Backup(t.Context(), path, file); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return path, file
}

// TestRestoreTellsReaders: who followed the database that was replaced learns
// that nothing it knows is good any more.
func TestRestoreTellsReaders(t *testing.T) {
	path, file := backup(t, 1)
	db := open(t, path)
	g := begunAgain(t, db)
	begun, err := db.Newest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var seen int64
	for version := uint64(2); version < 6; version++ { // all lost
		result, err := db.Push(t.Context(), "a", g, state(version))
		if err != nil {
			t.Fatal(err)
		}
		seen = result.Revision
	}
	cursor, err := db.Newest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := sqlite.Restore(t.Context(), file, path, true); err != nil {
		t.Fatal(err)
	}
	db = open(t, path)
	if version := whole(t, db); version != 1 {
		t.Errorf("version %d is there", version)
	}
	for _, after := range []store.Cursor{begun, cursor} {
		page, err := db.Events(t.Context(), after, 10)
		if err != nil || !page.Lost {
			t.Errorf("after %v: %+v, %v", after, page, err)
		}
	}
	result, err := db.Push(t.Context(), "a", begunAgain(t, db), store.Push{Initial: true, Snapshot: snapshot.Snapshot{Version: 1}})
	if err != nil || result.Revision <= seen+1_000_000_000 {
		t.Errorf("the next push: %+v, %v", result, err)
	}
}

// TestRestoreRefused: what must not be replaced isn't, and what is no backup
// replaces nothing.
func TestRestoreRefused(t *testing.T) {
	_, file := backup(t, 7)
	whoseElse := filepath.Join(t.TempDir(), "other")
	made(t, whoseElse)
	exec(t, whoseElse, "PRAGMA application_id = 7")
	newer := filepath.Join(t.TempDir(), "newer")
	made(t, newer)
	exec(t, newer, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (999, 1)")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string, data []byte) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	damaged := bytes.Clone(data)
	for i := 4096; i < len(damaged)/2; i++ {
		damaged[i] ^= 0x5a
	}
	for name, tc := range map[string]struct {
		file  string
		force bool
		is    error
	}{
		"not forced":    {file, false, store.ErrNotEmpty},
		"no backup":     {write("letter", []byte("Dear reader, this is long enough to be looked at, and no database.")), true, store.ErrForeign},
		"somebody's":    {whoseElse, true, store.ErrForeign},
		"newer":         {newer, true, store.ErrNewerSchema},
		"half of one":   {write("half", data[:len(data)/2]), true, store.ErrCorrupt},
		"damaged":       {write("damaged", damaged), true, store.ErrCorrupt},
		"nothing in it": {write("empty", nil), true, store.ErrForeign},
		"not there":     {filepath.Join(t.TempDir(), "none"), true, fs.ErrNotExist},
	} {
		t.Run(name, func(t *testing.T) {
			path, _ := backup(t, 3)
			if err := sqlite.Restore(t.Context(), tc.file, path, tc.force); !errors.Is(err, tc.is) {
				t.Errorf("error is %v, want %v", err, tc.is)
			}
			if left, _ := filepath.Glob(path + "*"); len(left) != 1 {
				t.Errorf("left behind: %v", left)
			}
			if version := whole(t, open(t, path)); version != 3 {
				t.Errorf("version %d is there", version)
			}
		})
	}
	t.Run("in use", func(t *testing.T) {
		path, _ := backup(t, 3)
		db := open(t, path)
		if err := sqlite.Restore(t.Context(), file, path, true); !errors.Is(err, store.ErrInUse) {
			t.Errorf("error is %v", err)
		}
		if version := whole(t, db); version != 3 {
			t.Errorf("version %d is there", version)
		}
	})
	t.Run("a damaged database is replaced", func(t *testing.T) {
		path := write("hub.db", damaged)
		if err := sqlite.Restore(t.Context(), file, path, false); !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("not forced: %v", err)
		}
		if err := sqlite.Restore(t.Context(), file, path, true); err != nil {
			t.Fatal(err)
		}
		if version := whole(t, open(t, path)); version != 7 {
			t.Errorf("version %d is there", version)
		}
	})
	t.Run("somebody's database isn't", func(t *testing.T) {
		before, err := os.ReadFile(whoseElse)
		if err != nil {
			t.Fatal(err)
		}
		if err := sqlite.Restore(t.Context(), file, whoseElse, true); !errors.Is(err, store.ErrForeign) {
			t.Errorf("error is %v", err)
		}
		if after, err := os.ReadFile(whoseElse); err != nil || !bytes.Equal(before, after) {
			t.Errorf("it has changed: %v", err)
		}
	})
}

func TestBackupRefused(t *testing.T) {
	path, file := backup(t, 1)
	if err := sqlite.Backup(t.Context(), path, file); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over another one: %v", err)
	}
	if err := sqlite.Backup(t.Context(), filepath.Join(t.TempDir(), "none"), file+"2"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of nothing: %v", err)
	}
	other := filepath.Join(t.TempDir(), "other")
	made(t, other)
	exec(t, other, "PRAGMA application_id = 7")
	if err := sqlite.Backup(t.Context(), other, file+"3"); !errors.Is(err, store.ErrForeign) {
		t.Errorf("of somebody's: %v", err)
	}
	if left, _ := filepath.Glob(file + "?*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
