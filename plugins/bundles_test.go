package plugins_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"waymark/abi"
	"waymark/plugins"
	"waymark/plugins/conventions"
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

// TestReadersOfBundles: who reads a manifest loads what is at the places that it reads, and
// nobody reads one that is another program's.
func TestReadersOfBundles(t *testing.T) {
	skill := func(name string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte("---\nname: " + name + "\ndescription: d\n---\n")}
	}
	text := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	const list = `{"name":"m","plugins":[{"name":"p","source":"p"},{"name":"q","source":{"source":"github","repo":"o/q"}}]}`
	for name, tt := range map[string]struct {
		tree fstest.MapFS
		want []string // kind, path, plugin and readers
	}{
		"a list of GitHub Copilot's": {fstest.MapFS{
			".github/plugin/marketplace.json": text(list), "p/.github/plugin/plugin.json": text(`{"name":"p"}`),
			"p/agents/a.agent.md": skill("a"), "p/hooks.json": text(`{"hooks":{"sessionStart":[{"type":"command","bash":"x"}]}}`), "p/.github/mcp.json": text(`{"mcpServers":{}}`),
		}, []string{"hook p/hooks.json p copilot", "mcp_config p/.github/mcp.json p copilot", "plugin .github/plugin/marketplace.json - copilot", "plugin .github/plugin/marketplace.json - copilot", "plugin .github/plugin/marketplace.json p copilot", "plugin p/.github/plugin/plugin.json p copilot", "subagent p/agents/a.agent.md p copilot"}},
		"at the top, with a plain manifest": {fstest.MapFS{
			"marketplace.json": text(list), "p/plugin.json": text(`{"name":"p","skills":"more"}`), "p/more/x/SKILL.md": skill("x"),
		}, []string{"plugin marketplace.json - copilot", "plugin marketplace.json - copilot", "plugin marketplace.json p copilot", "plugin p/plugin.json p copilot", "skill p/more/x p copilot"}},
		"a plain manifest, in lists of two": {fstest.MapFS{
			".claude-plugin/marketplace.json": text(`{"name":"m","plugins":[{"name":"p","source":"./p"}]}`), ".github/plugin/marketplace.json": text(`{"name":"m","plugins":[{"name":"p","source":"./p"}]}`),
			"p/plugin.json": text(`{"name":"p","skills":["./more"]}`), "p/more/x/SKILL.md": skill("x"), "p/agents/a.md": skill("a"),
		}, []string{
			"plugin .claude-plugin/marketplace.json - claude-code,codex,copilot,vscode", "plugin .claude-plugin/marketplace.json p claude-code,codex,copilot,vscode", "plugin .github/plugin/marketplace.json - copilot",
			"plugin p/plugin.json p copilot", "skill p/more/x p claude-code,codex,copilot,vscode", "subagent p/agents/a.md p claude-code,copilot",
		}},
		"another program's": {fstest.MapFS{
			"marketplace.json": text(`{"name":"m","offers":[]}`), "plugin.json": text(`{"name":"p"}`), "skills/s/SKILL.md": skill("s"),
		}, []string{"skill skills/s - openclaw"}},
		"the open specification's, in GitHub Copilot's list": {fstest.MapFS{
			".github/plugin/marketplace.json": text(list), "p/plugin.json": text(`{` + agentPluginSchema + `,"name":"p"}`),
			"p/agents/a.md": skill("a"), "p/skills/s/SKILL.md": skill("s"), "p/.mcp.json": text(`{}`),
		}, []string{"plugin .github/plugin/marketplace.json - copilot", "plugin .github/plugin/marketplace.json - copilot", "plugin .github/plugin/marketplace.json p agent-plugins,copilot", "plugin p/plugin.json p agent-plugins", "skill p/skills/s p agent-plugins,copilot"}},
		"Cursor's, in the place of what is usual": {fstest.MapFS{
			".cursor-plugin/plugin.json": text(`{"name":"p","skills":"./more"}`), "rules/r.mdc": text("---\nalwaysApply: true\n---\n"), "more/x/SKILL.md": skill("x"), "skills/s/SKILL.md": skill("s"), "mcp.json": text(`{"mcpServers":{}}`),
		}, []string{"instruction_file rules/r.mdc p cursor", "mcp_config mcp.json p cursor", "plugin .cursor-plugin/plugin.json - cursor", "skill more/x p cursor", "skill skills/s - openclaw"}},
		"one skill": {fstest.MapFS{
			".claude-plugin/marketplace.json": text(`{"name":"m","plugins":[{"name":"p","source":"./p","strict":false}]}`), "p/SKILL.md": skill("p"), "p/references/SKILL.md": skill("x"),
		}, []string{"plugin .claude-plugin/marketplace.json - claude-code,codex,copilot,vscode", "plugin .claude-plugin/marketplace.json p claude-code,codex,copilot,vscode", "skill p p claude-code"}},
		"one skill, at the top": {fstest.MapFS{
			".claude-plugin/plugin.json": text(`{"name":"p"}`), "SKILL.md": skill("p"),
		}, []string{"plugin .claude-plugin/plugin.json - claude-code,codex,copilot,vscode", "skill . p claude-code"}},
		"commands by their names, agents in directories": {fstest.MapFS{
			".claude-plugin/plugin.json": text(`{"name":"p","commands":{"a":{"source":"./x/a.md"},"b":{"content":"text"}}}`), "x/a.md": text("a"), "commands/c.md": text("c"), "agents/team/d.md": skill("d"),
		}, []string{"command x/a.md p claude-code,codex,copilot", "plugin .claude-plugin/plugin.json - claude-code,codex,copilot,vscode", "subagent agents/team/d.md p claude-code,copilot"}},
		"an extension": {fstest.MapFS{
			"gemini-extension.json": text(`{"name":"p","contextFileName":"docs/CONTEXT.md"}`), "docs/CONTEXT.md": text("text"), "GEMINI.md": text("own"), "commands/c.toml": text(`prompt = "x"`),
		}, []string{"command commands/c.toml p gemini", "instruction_file GEMINI.md - copilot,crush,gemini,zed", "instruction_file docs/CONTEXT.md p gemini", "mcp_config gemini-extension.json - gemini", "plugin gemini-extension.json - gemini"}},
		"a list of Codex's beside Claude Code's": {fstest.MapFS{
			".agents/plugins/marketplace.json": text(`{"name":"m","plugins":[{"name":"p","source":{"source":"local","path":"./p"}}]}`),
			".claude-plugin/marketplace.json":  text(`{"name":"m","metadata":{"pluginRoot":"./all"},"plugins":[{"name":"q","source":"q"}]}`),
			"p/skills/s/SKILL.md":              skill("s"), "all/q/skills/t/SKILL.md": skill("t"),
		}, []string{
			"plugin .agents/plugins/marketplace.json - codex", "plugin .agents/plugins/marketplace.json p codex",
			"plugin .claude-plugin/marketplace.json - claude-code,codex,copilot,vscode", "plugin .claude-plugin/marketplace.json q claude-code,copilot,vscode",
			"skill all/q/skills/t q claude-code,copilot,vscode", "skill p/skills/s p codex",
		}},
		"a broken manifest": {fstest.MapFS{
			".claude-plugin/marketplace.json": text(`{"name":"m","plugins":[{"name":"p","source":"./p"},{"name":"q","source":"./q"},{"source":"./none"},7]}`),
			"p/.claude-plugin/plugin.json":    text(`{"name":`), "p/skills/s/SKILL.md": skill("s"), "p/.codex-plugin/plugin.json": text(`{"name":"p"}`), "p/.mcp.json": text(`{"mcpServers":{}}`),
			"q/skills/t/SKILL.md": skill("t"),
		}, []string{
			"mcp_config p/.mcp.json p codex", "plugin .claude-plugin/marketplace.json - claude-code,codex,copilot,vscode", "plugin .claude-plugin/marketplace.json - claude-code,codex,copilot,vscode", "plugin .claude-plugin/marketplace.json - claude-code,codex,copilot,vscode",
			"plugin .claude-plugin/marketplace.json p codex", "plugin .claude-plugin/marketplace.json q claude-code,codex,copilot,vscode",
			"plugin p/.claude-plugin/plugin.json p claude-code,codex,copilot,vscode invalid", "plugin p/.codex-plugin/plugin.json p codex", "skill p/skills/s p codex", "skill q/skills/t q claude-code,codex,copilot,vscode",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, resolver := range []string{"context", "hooks", "mcp-config"} {
				for _, r := range ask(t, resolver, tt.tree) {
					line := string(r.Kind) + " " + r.Path + " " + cmp.Or(r.Attributes["plugin"].Text, "-") + " " + strings.Join(readers(&r), ",")
					if r.Status == abi.StatusInvalid {
						line += " invalid"
					}
					got = append(got, line)
				}
			}
			slices.Sort(got)
			if !slices.Equal(got, tt.want) {
				t.Errorf("found\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
			}
		})
	}
}

// TestManyPaths: all paths of a manifest count, as many as anybody is known to have.
func TestManyPaths(t *testing.T) {
	tree, paths := fstest.MapFS{}, []string{}
	for i := range 300 {
		name := fmt.Sprintf("s%d", i)
		tree["all/"+name+"/SKILL.md"] = &fstest.MapFile{Data: []byte("---\nname: " + name + "\ndescription: d\n---\n")}
		paths = append(paths, "./all/"+name)
	}
	manifest, err := json.Marshal(map[string]any{"name": "p", "skills": paths})
	if err != nil {
		t.Fatal(err)
	}
	tree[".claude-plugin/plugin.json"] = &fstest.MapFile{Data: manifest}
	if found := ask(t, "context", tree); len(found) != len(paths) {
		t.Errorf("%d of %d skills", len(found), len(paths))
	}
}

// readers are those of a resource, by itself or by its convention.
func readers(r *abi.Resource) []string {
	if r.Readers != nil {
		return r.Readers
	}
	for i := range conventions.All {
		if conventions.All[i].ID == r.Convention {
			return conventions.All[i].Readers
		}
	}
	return nil
}
