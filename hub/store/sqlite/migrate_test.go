package sqlite_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"waymark/hub/store"
	"waymark/hub/store/sqlite"
	"waymark/snapshot"
)

// version1 is what the first release was given before testdata/version1.sql
// was made of its database.
func version1() snapshot.Snapshot {
	x := snapshot.Resource{
		Kind: "skill", Source: "/w/.agents/skills/x", Key: "k", SourcePath: "/w", Name: "x",
		Description: "does <b>things</b> & more ☃ \u2028",
		Status:      snapshot.StatusOK, Stale: true, ContentHash: []byte{1, 2, 3}, SizeBytes: 5, Resolver: "waymark/skills@1.0.0",
		Attributes: snapshot.Attributes{"globs": {List: []string{"**/*.ts", ""}}, "none": {List: []string{}}, "mode": {Text: "always"}},
		Payload:    []byte("a\x00\xffb\n"),
	}
	return snapshot.Snapshot{
		Version: 4, AggregateHash: []byte{0xab, 0}, SnapshotError: "no inotify", PayloadBytes: 10,
		Resources: []snapshot.Resource{
			{Kind: "instruction_file", Source: "/w/AGENTS.md", Status: snapshot.StatusOK, Payload: []byte{}},
			{Kind: "instruction_file", Source: "/w/CLAUDE.md", Status: snapshot.StatusOK, Payload: x.Payload, SizeBytes: 5},
			{Kind: "mcp_config", Source: "/w/.mcp.json", Status: snapshot.StatusInvalid, Error: "not an object"},
			x,
		},
		Plugins: []snapshot.Plugin{{
			Name: "waymark", Version: "1.0.0", Digest: "ab", Path: "builtin",
			State: snapshot.PluginReady, Resolvers: []string{"skills"},
		}},
	}
}

func openVersion1(t *testing.T) (path string, db *sqlite.DB) {
	t.Helper()
	script, err := os.ReadFile("testdata/version1.sql")
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "hub.db")
	exec(t, path, string(script))
	return path, open(t, path)
}

func second(n int) time.Time {
	return time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC).Add(time.Duration(n) * time.Second)
}

// TestMigrateVersion1 finds everything again that the first release stored.
func TestMigrateVersion1(t *testing.T) {
	path, db := openVersion1(t)
	agents, err := db.Agents(t.Context())
	wantAgents := []store.AgentInfo{
		{ID: "dev-1", Name: "build machine", CreatedAt: second(1), Version: 4, AggregateHash: []byte{0xab, 0}, Resources: 4, Revision: 3, UpdatedAt: second(9)},
		{ID: "dev-2", CreatedAt: second(2), Version: 1, Revision: 4, UpdatedAt: second(10)},
		{ID: "silent", CreatedAt: second(4)},
	}
	if d := cmp.Diff(wantAgents, agents); err != nil || d != "" {
		t.Errorf("agents: %v (-want +got):\n%s", err, d)
	}
	got, err := db.Snapshot(t.Context(), store.Query{AgentID: "dev-1"})
	want := store.StoredSnapshot{Snapshot: version1(), ReceivedAt: second(9), Revision: 3}
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); err != nil || d != "" {
		t.Errorf("snapshot: %v (-want +got):\n%s", err, d)
	}
	for i, r := range want.Snapshot.Resources { // EquateEmpty can't tell no payload from an empty one
		if (got.Snapshot.Resources[i].Payload == nil) != (r.Payload == nil) {
			t.Errorf("%s: payload is %q, want %q", r.ID(), got.Snapshot.Resources[i].Payload, r.Payload)
		}
	}
	changes, err := db.Changes(t.Context(), 0, 10)
	wantChanges := []store.Change{
		{Revision: 3, AgentID: "dev-1", Version: 4, AggregateHash: []byte{0xab, 0}, Resources: 4, At: second(9)},
		{Revision: 4, AgentID: "dev-2", Version: 1, At: second(10)},
	}
	if d := cmp.Diff(wantChanges, changes); err != nil || d != "" {
		t.Errorf("changes: %v (-want +got):\n%s", err, d)
	}
	if n := at(path).Count(t, "bodies"); n != 2 {
		t.Errorf("%d payloads, want 2: one is there twice", n)
	}
	tokens, err := db.Tokens(t.Context())
	if err != nil || len(tokens) != 5 {
		t.Errorf("tokens: %+v, %v", tokens, err)
	}
	for text, want := range map[string]store.Token{
		"one":  {Role: store.RoleAgent, AgentID: "dev-1", Name: "build machine", CreatedAt: second(1)},
		"two":  {Role: store.RoleAgent, AgentID: "dev-2", CreatedAt: second(2), RevokedAt: second(3)},
		"five": {Role: store.RoleReader, Name: "dashboard", CreatedAt: second(6), Provisioned: true},
	} {
		token, err := db.TokenByHash(t.Context(), store.HashToken(text))
		want.ID = token.ID
		if d := cmp.Diff(want, token); err != nil || d != "" {
			t.Errorf("token %s: %v (-want +got):\n%s", text, err, d)
		}
	}
}

// TestGoOnAfterVersion1 pushes to what the first release stored.
func TestGoOnAfterVersion1(t *testing.T) {
	path, db := openVersion1(t)
	old, err := db.Push(t.Context(), "dev-1", 2, store.Push{Delta: true, BaseVersion: 4, Snapshot: snapshot.Snapshot{Version: 5}})
	if err == nil {
		t.Errorf("a delta of a session that knows no deltas: %+v", old)
	}
	g, err := db.BeginSession(t.Context(), "dev-1")
	if err != nil || g != 3 {
		t.Fatalf("generation %d, %v; want 3", g, err)
	}
	p := store.Push{Initial: true, Snapshot: version1()}
	result, err := db.Push(t.Context(), "dev-1", g, p)
	if want := (store.PushResult{Accepted: true, Revision: 3}); err != nil || result != want {
		t.Errorf("the same again: %+v, %v; want %+v", result, err, want)
	}
	p = store.Push{Delta: true, BaseVersion: 4, Removed: []string{"mcp_config:/w/.mcp.json"}, Snapshot: version1()}
	p.Snapshot.Version, p.Snapshot.Resources = 5, p.Snapshot.Resources[:1]
	p.Snapshot.Resources[0].Payload = []byte("text")
	result, err = db.Push(t.Context(), "dev-1", g, p)
	if want := (store.PushResult{Accepted: true, Revision: 5, Written: 1, Removed: 1}); err != nil || result != want {
		t.Errorf("a delta: %+v, %v; want %+v", result, err, want)
	}
	const agentsMD = " FROM resources WHERE id = 'instruction_file:/w/AGENTS.md' AND until IS NULL"
	if created := value(t, path, "SELECT created_at"+agentsMD); created != second(9).UnixMicro() {
		t.Errorf("a changed resource was first seen at %d, want %d", created, second(9).UnixMicro())
	}
	if updated := value(t, path, "SELECT updated_at"+agentsMD); updated <= second(9).UnixMicro() {
		t.Errorf("a changed resource was updated at %d", updated)
	}
	changes, err := db.Diff(t.Context(), "dev-1", 3, 5)
	if err != nil || len(changes) != 2 || string(changes[0].After.Payload) != "text" || changes[1].After != nil {
		t.Errorf("diff over the migration: %+v, %v", changes, err)
	}
	before, err := db.Snapshot(t.Context(), store.Query{AgentID: "dev-1", Revision: 3})
	if d := cmp.Diff(version1(), before.Snapshot, cmpopts.EquateEmpty()); err != nil || d != "" {
		t.Errorf("the first release's snapshot: %v (-want +got):\n%s", err, d)
	}
}

// TestBrowsersTokensEnd: browsers had tokens of their own once. Such a token
// opens nothing any more, and none but those.
func TestBrowsersTokensEnd(t *testing.T) {
	script, err := os.ReadFile("testdata/version1.sql")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "hub.db")
	exec(t, path, string(script))
	exec(t, path, `INSERT INTO tokens (id, hash, role, agent_id, name, provisioned, created_at) VALUES
		('old', zeroblob(32), 'reader', NULL, 'page', 0, 1), ('file', randomblob(32), 'reader', NULL, 'page', 1, 1),
		('agent', randomblob(32), 'agent', 'dev-1', 'page', 0, 1), ('other', randomblob(32), 'reader', NULL, 'pages', 0, 1)`)
	db := open(t, path)
	valid, err := db.ValidTokens(t.Context(), []string{"old", "file", "agent", "other"})
	slices.Sort(valid)
	if d := cmp.Diff([]string{"agent", "file", "other"}, valid); err != nil || d != "" {
		t.Errorf("valid tokens: %v (-want +got):\n%s", err, d)
	}
	if token, err := db.TokenByHash(t.Context(), store.TokenHash{}); err != nil || !token.Revoked() || time.Since(token.RevokedAt) > time.Hour {
		t.Errorf("the old browser's token is %+v, %v", token, err)
	}
}
