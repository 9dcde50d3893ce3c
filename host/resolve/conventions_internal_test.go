package resolve

import (
	"slices"
	"testing"

	"waymark/abi"
	"waymark/host/vfs"
	"waymark/plugins/conventions"
	"waymark/snapshot"
)

// TestComplete: who reads a find is the table's to say, and what isn't known is repeated
// only of resolvers that see no settings files.
func TestComplete(t *testing.T) {
	var codex *conventions.Convention // any that is built in
	for i := range conventions.All {
		if slices.Contains(conventions.All[i].Readers, "codex") {
			codex = &conventions.All[i]
		}
	}
	own := NewTable([]conventions.Convention{{ID: "own", Readers: []string{"z", "a", "z"}}})
	for _, test := range []struct {
		table *Table
		kind  abi.Kind
		id    string
		given []string

		wantID string
		want   []string
	}{
		{nil, abi.KindSkill, codex.ID, []string{"given"}, codex.ID, readers(codex.Readers)},
		{own, abi.KindMCPConfig, codex.ID, nil, codex.ID, readers(codex.Readers)},
		{own, abi.KindSkill, "own", nil, "own", []string{"a", "z"}},
		{own, abi.KindHook, "own", nil, "own", []string{"a", "z"}},
		{nil, abi.KindSkill, "own", []string{"given"}, "own", []string{"given"}},
		{nil, abi.KindMCPConfig, "token", nil, "", nil},
		{nil, abi.KindHook, "token", nil, "", nil},
		{own, abi.KindSkill, "", []string{"given"}, "", []string{"given"}},
	} {
		r := &Resolver{Info: abi.Resolver{Kinds: []abi.Kind{test.kind}}, Conventions: test.table}
		list := []snapshot.Candidate{{Resource: snapshot.Resource{Kind: test.kind, Convention: test.id, Readers: test.given}}}
		r.complete(list, Root{})
		if c := &list[0]; c.Convention != test.wantID || !slices.Equal(c.Readers, test.want) || c.Scope != snapshot.ScopeProject {
			t.Errorf("%s %q: got %q, %q, %q", test.kind, test.id, c.Convention, c.Readers, c.Scope)
		}
	}
}

// TestPlaces: the operator's places are visible, but never what is on the secret list.
func TestPlaces(t *testing.T) {
	root, err := vfs.OpenRoot(t.TempDir(), vfs.RootOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	r := &Resolver{Info: abi.Resolver{Kinds: []abi.Kind{abi.KindCommand}, Reads: []string{"a"}}}
	var e Engine
	before := e.keyOf(r, Root{FS: root})
	r.Places = []string{"own/*.md", "own/.env"}
	if e.keyOf(r, Root{FS: root}) == before {
		t.Error("a memo from before would be used")
	}
	view := viewOf(r, Root{FS: root}, false)
	filter, err := view.Compile()
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{"a": true, "own/b.md": true, "own/.env": false, "b": false} {
		if got := root.Judge(filter, path); got.File != want {
			t.Errorf("%s: %+v", path, got)
		}
	}
}
