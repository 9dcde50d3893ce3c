package sqlite

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"waymark/hub/store"
	"waymark/internal/credential"
	"waymark/snapshot"
)

// TestMigrate: a schema that gets another step keeps what is in it, a step that
// fails leaves what was there, and a build without the step refuses the file.
func TestMigrate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hub.db")
	push(t, path)
	steps := fstest.MapFS{}
	released, err := fs.Glob(migrations(), "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range released {
		data, err := fs.ReadFile(migrations(), name)
		if err != nil {
			t.Fatal(err)
		}
		steps[name] = &fstest.MapFile{Data: data}
	}
	if err := new(DB).prepare(t.Context(), path, steps); err != nil {
		t.Fatalf("nothing to do: %v", err)
	}
	bad := maps.Clone(steps)
	bad["00099_bad.sql"] = &fstest.MapFile{Data: []byte("-- +goose Up\nDROP TABLE resources;\nSELECT * FROM nothing;\n")}
	if err := new(DB).prepare(t.Context(), path, bad); err == nil {
		t.Fatal("a step that can't be done was done")
	}
	read(t, path)

	steps["00099_next.sql"] = &fstest.MapFile{Data: []byte("-- +goose Up\nALTER TABLE agents ADD COLUMN mood TEXT NOT NULL DEFAULT 'good';\n")}
	for range 2 { // the second time there is nothing to do
		if err := new(DB).prepare(t.Context(), path, steps); err != nil {
			t.Fatal(err)
		}
	}
	pool, err := new(DB).connect(path, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	var mood string
	var payload []byte
	if err := pool.QueryRow("SELECT mood, payload FROM agents, bodies").Scan(&mood, &payload); err != nil || mood != "good" || string(payload) != "x" {
		t.Errorf("after the step: %q, payload %q, %v", mood, payload, err)
	}
	if err := pool.Close(); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), path, Options{}); !errors.Is(err, store.ErrNewerSchema) {
		t.Errorf("without the step: %v, want %v", err, store.ErrNewerSchema)
	}
	if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
		t.Errorf("the file was changed: %v", err)
	}
}

// push stores a snapshot with one payload in a new database.
func push(t *testing.T, path string) {
	t.Helper()
	db, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	token := store.NewToken{Role: store.RoleAgent, AgentID: "a", Hash: credential.HashOf(credential.AgentToken.New())}
	if _, err := db.CreateToken(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	generation, _, err := db.BeginSession(t.Context(), "a", "")
	if err != nil {
		t.Fatal(err)
	}
	resource := snapshot.Resource{Kind: "instruction_file", Source: "/a", Status: snapshot.StatusOK, Payload: []byte("x")}
	_, err = db.Push(t.Context(), "a", generation, store.Push{Initial: true, Snapshot: snapshot.Snapshot{Version: 1, Resources: []snapshot.Resource{resource}}})
	if err != nil {
		t.Fatal(err)
	}
}

// read finds again what push has stored.
func read(t *testing.T, path string) {
	t.Helper()
	db, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	s, err := db.Snapshot(t.Context(), store.Query{AgentID: "a"})
	if err != nil || len(s.Snapshot.Resources) != 1 || string(s.Snapshot.Resources[0].Payload) != "x" {
		t.Errorf("%+v, %v", s, err)
	}
}
