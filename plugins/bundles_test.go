package plugins_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/fstest"

	"waymark/abi"
	"waymark/plugins"
)

// ask runs a resolver on a tree.
func ask(t *testing.T, resolver string, tree fstest.MapFS) []abi.Resource {
	t.Helper()
	out, err := plugins.Module().HandleResolve([]byte(`{"abi":1,"resolver":"`+resolver+`","root":{"name":"w","file":"","role":""},"config":{}}`), tree)
	if err != nil {
		t.Fatal(err)
	}
	var resp abi.Response
	if err := json.Unmarshal(out, &resp); err != nil {
		t.Fatal(err)
	}
	return resp.Resources
}

const agentPluginSchema = `"$schema":"https://agent-plugins.org/schemas/1.0.0/plugin.schema.json"`

// TestAgentPluginManifests: what the open specification says of plugin.json. One that is
// rejected brings nothing.
func TestAgentPluginManifests(t *testing.T) {
	for name, tt := range map[string]struct {
		manifest string
		status   string // "" none is listed
		finding  bool
	}{
		"plain":                      {`{` + agentPluginSchema + `,"name":"a.b-c"}`, "ok", false},
		"unknown-field":              {`{` + agentPluginSchema + `,"name":"a","commands":"x"}`, "ok", true},
		"extensions is no object":    {`{` + agentPluginSchema + `,"name":"a","extensions":1}`, "ok", true},
		"metadata by type alone":     {`{` + agentPluginSchema + `,"name":"a","version":"one","homepage":"no url","license":"mine"}`, "ok", false},
		"another version":            {`{"$schema":"https://agent-plugins.org/schemas/2.0.0/plugin.schema.json","name":"a"}`, "invalid", false},
		"no name":                    {`{` + agentPluginSchema + `}`, "invalid", false},
		"name with two hyphens":      {`{` + agentPluginSchema + `,"name":"a--b"}`, "invalid", false},
		"name with capitals":         {`{` + agentPluginSchema + `,"name":"A"}`, "invalid", false},
		"name ends with a dot":       {`{` + agentPluginSchema + `,"name":"a."}`, "invalid", false},
		"version is a number":        {`{` + agentPluginSchema + `,"name":"a","version":1}`, "invalid", false},
		"author with another field":  {`{` + agentPluginSchema + `,"name":"a","author":{"x":"y"}}`, "invalid", false},
		"keywords of numbers":        {`{` + agentPluginSchema + `,"name":"a","keywords":[1]}`, "invalid", false},
		"malformed, with the schema": {`{` + agentPluginSchema + `,`, "invalid", false},
		"nested schema":              {`{"x":{` + agentPluginSchema + `},"name":"a"}`, "", false},
		"foreign":                    {`{"name":"a"}`, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			tree := fstest.MapFS{
				"plugin.json":       {Data: []byte(tt.manifest)},
				"skills/s/SKILL.md": {Data: []byte("---\nname: s\ndescription: d\n---\n")},
				"mcp.json":          {Data: []byte(`{"$schema":"https://agent-plugins.org/schemas/1.0.0/mcp.schema.json","mcpServers":{}}`)},
			}
			var found *abi.Resource
			for _, r := range ask(t, "hooks", tree) {
				if r.Kind == abi.KindPlugin {
					found = &r
				}
			}
			switch {
			case (found == nil) != (tt.status == ""):
				t.Fatalf("found %+v", found)
			case found != nil && (found.Status == "invalid") != (tt.status == "invalid"), found != nil && tt.finding != (len(found.Findings) > 0):
				t.Errorf("found %+v", found)
			}
			of := ""
			for _, r := range ask(t, "context", tree) {
				of += r.Attributes["plugin"].Text
			}
			servers := len(ask(t, "mcp-config", tree))
			if loaded := tt.status == "ok"; loaded != (of != "") || loaded != (servers == 1) {
				t.Errorf("a skill of %q, %d files of servers", of, servers)
			}
		})
	}
}

// TestPathsOfPlugins: of the paths that a manifest names, those below the plugin count.
func TestPathsOfPlugins(t *testing.T) {
	for name, tt := range map[string]struct{ manifest, want string }{
		"a directory of skills":      {`"skills":"./more"`, "plugin/more/x plugin/skills/s"},
		"a skill":                    {`"skills":["./more/x"]`, "plugin/more/x plugin/skills/s"},
		"agents instead":             {`"agents":["./other/b.md"]`, "plugin/other/b.md plugin/skills/s"},
		"above":                      {`"skills":"../outside"`, "plugin/agents/a.md plugin/skills/s"},
		"hidden above":               {`"skills":"./more/../../outside"`, "plugin/agents/a.md plugin/skills/s"},
		"absolute":                   {`"skills":"/outside"`, "plugin/agents/a.md plugin/skills/s"},
		"of another system":          {`"skills":".\\more"`, "plugin/agents/a.md plugin/skills/s"},
		"twice":                      {`"skills":["./more","more","./more/x"]`, "plugin/agents/a.md plugin/more/x plugin/skills/s"},
		"not there, and not a path":  {`"skills":["./none",1,""],"commands":{}`, "plugin/agents/a.md plugin/skills/s"},
		"a file where skills belong": {`"skills":"./other/b.md"`, "plugin/agents/a.md plugin/skills/s"},
	} {
		t.Run(name, func(t *testing.T) {
			skill := []byte("---\nname: s\ndescription: d\n---\n")
			tree := fstest.MapFS{
				".claude-plugin/marketplace.json":   {Data: []byte(`{"name":"m","plugins":[{"name":"p","source":"./plugin"}]}`)},
				"plugin/.claude-plugin/plugin.json": {Data: []byte(`{"name":"p",` + tt.manifest + `}`)},
				"plugin/skills/s/SKILL.md":          {Data: skill}, "plugin/more/x/SKILL.md": {Data: skill}, "outside/o/SKILL.md": {Data: skill},
				"plugin/agents/a.md": {Data: skill}, "plugin/other/b.md": {Data: skill},
			}
			var got []string
			for _, r := range ask(t, "context", tree) {
				if got = append(got, r.Path); r.Attributes["plugin"].Text != "p" {
					t.Errorf("%+v", r)
				}
			}
			for _, p := range strings.Fields(tt.want) {
				if !strings.Contains(" "+strings.Join(got, " ")+" ", " "+p+" ") {
					t.Errorf("%s is missing of %q", p, got)
				}
			}
			if strings.Contains(strings.Join(got, " "), "outside") {
				t.Errorf("found %q", got)
			}
		})
	}
}
