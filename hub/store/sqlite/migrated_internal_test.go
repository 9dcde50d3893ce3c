package sqlite

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"waymark/test/contracts/storetest"
)

// TestMigrated opens what a hub of the first schema has left.
func TestMigrated(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hub.db")
	names, err := fs.Glob(migrations(), "00001_*.sql")
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	schema, err := fs.ReadFile(migrations(), names[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := create(path); err != nil {
		t.Fatal(err)
	}
	if err := new(DB).prepare(t.Context(), path, fstest.MapFS{names[0]: {Data: schema}}); err != nil {
		t.Fatal(err)
	}
	rows, err := os.ReadFile("testdata/00001.sql")
	if err != nil {
		t.Fatal(err)
	}
	pool, err := new(DB).connect(path, 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pool.Exec(string(rows)); err != nil {
		t.Fatal(err)
	}
	if err := pool.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	storetest.RunMigrated(t, db)
}
