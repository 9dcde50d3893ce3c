package plugin

import (
	"slices"
	"testing"

	"waymark/abi"
	"waymark/plugins/conventions"
)

// TestConfigure: a resolver gets the operator's conventions of its kinds as they are
// documented, beside its own table, and nothing where there is nothing to say.
func TestConfigure(t *testing.T) {
	c := Conventions{
		Own: []conventions.Convention{
			{ID: "a", Readers: []string{"r"}, Places: []string{"a/*.md"}, Scope: conventions.ScopeProject, Kind: abi.KindCommand,
				Format: conventions.TOML, Name: conventions.FromPath, Description: conventions.FromField, Applies: conventions.Applies{Mode: "glob", GlobsKey: "g"}},
			{ID: "b", Places: []string{"b"}, Kind: abi.KindHook},
			{ID: "c", Places: []string{"c"}, Kind: abi.KindCommand},
			{ID: "d", Places: []string{"d"}, Scope: conventions.ScopeUser, Kind: abi.KindSkill},
		},
		Disabled: []string{"agents-md", "c"}, Strict: true, Grants: []string{"mcp"},
	}
	got, err := c.configure([]byte(`{"big":9007199254740993,"strict":false}`), []abi.Kind{abi.KindCommand, abi.KindSubagent})
	want := `{"big":9007199254740993,"conventions":[{"id":"a","readers":["r"],"places":["a/*.md"],"scope":"project","kind":"command","format":"toml",` +
		`"name":"path","description":"front_matter","mode":"glob","globs_key":"g"}],"disabled":["agents-md","c"],"grants":["mcp"],"strict":true}`
	if err != nil || string(got) != want {
		t.Errorf("got  %s, %v\nwant %s", got, err, want)
	}
	if places := c.places([]abi.Kind{abi.KindCommand, abi.KindSkill}); !slices.Equal(places, []string{"a/*.md"}) {
		t.Errorf("places %q", places)
	}
	none := Conventions{}
	if got, err := none.configure(nil, []abi.Kind{abi.KindCommand}); got != nil || err != nil {
		t.Errorf("of nothing it makes %s, %v", got, err)
	}
	if _, err := c.configure([]byte("["), nil); err == nil {
		t.Error("what is no object was taken")
	}
}
