package plugins_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/fstest"

	"waymark/abi"
	"waymark/test/testenv"
	"waymark/test/workspaces"
)

// TestCollections: of a repository that is a collection of skills, a plugin or a list of
// plugins, what is in it is found, each once and of its plugin, and nothing else.
func TestCollections(t *testing.T) {
	r := testenv.Rand(t)
	for range testenv.Rounds(40, 200, 4000) {
		c := workspaces.Collect(r, r.IntN(12))
		tree := fstest.MapFS{}
		for name, text := range c.Files {
			tree[name] = &fstest.MapFile{Data: []byte(text)}
		}
		var found []workspaces.Part
		for _, resolver := range []string{"context", "hooks", "mcp-config"} {
			for _, res := range ask(t, resolver, tree) {
				found = append(found, workspaces.Part{Kind: res.Kind, Path: res.Path, Plugin: res.Attributes["plugin"].Text, Invalid: res.Status == abi.StatusInvalid})
				if text, err := json.Marshal(&res); err != nil || strings.Contains(string(text), workspaces.Token) {
					t.Errorf("a secret is in %s, %v", text, err)
				}
			}
		}
		if lines := c.Differences(found); len(lines) > 0 {
			t.Fatalf("%s:\n%s\nof\n%s", c.Shape, strings.Join(lines, "\n"), strings.Join(c.Paths(), "\n"))
		}
	}
}
