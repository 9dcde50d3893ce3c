// Package storetest is the specification of store.Store as a test suite that every
// implementation runs. Behavior that callers may rely on is specified here, not in one
// implementation's tests.
package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"waymark/abi"
	"waymark/hub/store"
	"waymark/internal/credential"
	"waymark/snapshot"
)

// Config is what a test asks of a store. The zero value asks for nothing.
type Config struct {
	Now     func() time.Time
	History store.Retention
}

// Database is one database, empty at first.
type Database struct {
	// Open opens a store on the database and closes it when the test ends.
	// Several at once are several hubs.
	Open func(t testing.TB, c Config) store.Store
	// Count returns the number of rows in one of its tables.
	Count func(t testing.TB, table string) int
}

// Make makes a new database.
type Make func(t testing.TB) Database

// Run runs the suite.
func Run(t *testing.T, database Make) {
	t.Helper()
	for _, group := range []map[string]func(*testing.T, store.Store){tokenTests, pushTests, deltaTests, bodyTests, factTests, fleetTests, crowdTests, readTests, textTests} {
		for name, test := range group {
			t.Run(name, func(t *testing.T) { test(t, database(t).Open(t, Config{})) })
		}
	}
	for _, group := range []map[string]func(*testing.T, Database){historyTests, retentionTests, pinTests, sharedTests, readerTests, approvalTests, enrollmentTests, webhookTests, presenceTests, findTests, auditTests} {
		for name, test := range group {
			t.Run(name, func(t *testing.T) { test(t, database(t)) })
		}
	}
}

// of is the query for what an agent has now.
func of(agentID string) store.Query { return store.Query{AgentID: agentID} }

// agent makes an agent with a running session and returns its generation.
func agent(t *testing.T, s store.Store, id string) int64 {
	t.Helper()
	if _, err := s.CreateToken(t.Context(), newToken(store.RoleAgent, id)); err != nil {
		t.Fatal(err)
	}
	generation, _, err := s.BeginSession(t.Context(), id, "")
	if err != nil {
		t.Fatal(err)
	}
	return generation
}

func newToken(role store.Role, agentID string) store.NewToken {
	return store.NewToken{Hash: credential.HashOf(role.Kind().New()), Role: role, AgentID: agentID}
}

// push pushes and requires that it was not refused.
func push(t *testing.T, s store.Store, id string, generation int64, p store.Push) store.PushResult {
	t.Helper()
	result, err := s.Push(t.Context(), id, generation, p)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func read(t *testing.T, s store.Store, id string) store.StoredSnapshot {
	t.Helper()
	got, err := s.Snapshot(t.Context(), of(id))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func wantErr(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("error is %v, want %v", err, want)
	}
}

// diff compares snapshots; nil and empty are the same, except for payloads,
// where nil means "none".
func diff(want, got snapshot.Snapshot) string {
	payload := cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Payload" },
		cmp.Comparer(func(a, b []byte) bool { return (a == nil) == (b == nil) && string(a) == string(b) }))
	other := cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() != ".Payload" }, cmpopts.EquateEmpty())
	return cmp.Diff(want, got, payload, other)
}

// skill returns a resource in which every field is set.
func skill(name, text string) snapshot.Resource {
	hash := credential.HashOf(text)
	return snapshot.Resource{
		Kind: abi.KindSkill, Source: "/w/.agents/skills/" + name, Key: "k", SourcePath: "/w", Name: name,
		Description: "does <b>things</b> & more ☃ \u2028", Status: snapshot.StatusOK, Stale: true,
		ContentHash: hash[:], SizeBytes: int64(len(text)), Resolver: "waymark/context@1.0.0",
		Attributes: snapshot.Attributes{
			"globs": {List: []string{"**/*.ts", ""}}, "none": {List: []string{}}, "mode": {Text: "always"}, "": {},
		},
		Payload:    []byte(text),
		Convention: "agents-skills", Readers: []string{"codex", "cursor"}, Scope: snapshot.ScopeProject,
		Findings: []snapshot.Finding{{Code: "name-mismatch", Severity: abi.SeverityWarning, Message: "its directory is <b>another</b>"}},
	}
}

// bare returns a resource in which only what must be set is set.
func bare(kind abi.Kind, source string) snapshot.Resource {
	return snapshot.Resource{Kind: kind, Source: source, Status: snapshot.StatusUnreadable, Error: "gone"}
}

func whole(version uint64, resources ...snapshot.Resource) store.Push {
	return store.Push{Snapshot: snapshot.Snapshot{Version: version, Resources: resources}}
}
