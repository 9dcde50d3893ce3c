package host_test

import (
	"fmt"
	"strings"

	"waymark/abi"
	"waymark/host"
	"waymark/snapshot"
)

func hidden(path string) string {
	return fmt.Sprintf("dropped %q: it is not in the resolver's reads, or hidden", path)
}

func capsOf(bytes int64) snapshot.Caps { return snapshot.Caps{MaxBytes: bytes} }

// mcpOutcomes: nothing of an MCP configuration gets out, however broken it is
// and whatever leads there.
func mcpOutcomes() []outcome {
	list := []outcome{{
		name: "instructions linked to an MCP configuration",
		tree: []string{
			`.mcp.json = {"mcpServers": {"a": {"env": {"T": "` + secret + `"}}}}`, "AGENTS.md -> .mcp.json",
			"CLAUDE.md -> AGENTS.md", "skills/one/SKILL.md -> ../../.mcp.json",
		},
		want: []string{"mcp_config:.mcp.json ok"},
		warn: []string{hidden("AGENTS.md"), hidden("CLAUDE.md"), `dropped "skills/one": it names a file that the resolver may not read`},
	}, {
		name: "instructions linked to another client's MCP configuration",
		tree: []string{".cursor/mcp.json = " + secret, "AGENTS.md -> .cursor/mcp.json", ".claude.json = " + secret, "CLAUDE.md -> .claude.json"},
		warn: []string{hidden("AGENTS.md"), hidden("CLAUDE.md")},
	}, {
		name: "an MCP configuration that is a hard link to instructions",
		tree: []string{`.mcp.json = {"mcpServers": {"a": {"env": {"T": "` + secret + `"}}}}`, "AGENTS.md => .mcp.json"},
		want: []string{"mcp_config:.mcp.json ok"},
		warn: []string{`dropped "AGENTS.md": it names a file that the resolver may not read`},
	}}
	rows := []struct{ name, text, want string }{
		{"no servers", `{}`, ""},
		{"empty servers", `{"mcpServers": {}}`, ""},
		{"null servers", `{"mcpServers": null}`, ""},
		{"other keys", `{"` + secret + `": "x", "mcpServers": {"a": {}}}`, ""},
		{"byte order mark", "\ufeff" + `{"mcpServers": {"a": {}}}`, "not valid JSON: it starts with a byte order mark"},
		{"empty file", "", "not valid JSON: it ends too early"},
		{"a string", `"` + secret + `"`, "not a JSON object"},
		{"a list", `["` + secret + `"]`, "not a JSON object"},
		{"servers are a list", `{"mcpServers": ["` + secret + `"]}`, "mcpServers is not an object"},
		{"servers are a string", `{"mcpServers": "` + secret + `"}`, "mcpServers is not an object"},
		{"a server is a string", `{"mcpServers": {"a": {}, "github": "` + secret + `"}}`, `server "github" is not an object`},
		{"a server is a list", `{"mcpServers": {"github": ["` + secret + `"]}}`, `server "github" is not an object`},
		{"servers twice", `{"mcpServers": null, "mcpServers": {"b": "` + secret + `"}}`, `server "b" is not an object`},
		{"cut off in a value", "{\"mcpServers\": {\n\"a\": {\"env\": {\"T\": \"" + secret, "not valid JSON: see line 2"},
		{"cut off after a value", "{\"mcpServers\": {\"a\": {\"T\": \"" + secret + "\"", "not valid JSON: see line 1"},
		{"bare word", "{\"mcpServers\": {\"a\":\n" + secret + "}}", "not valid JSON: see line 2"},
		{"single quotes", "{\n\n'T': '" + secret + "'}", "not valid JSON: see line 3"},
		{"a comment", "{ // " + secret + "\n}", "not valid JSON: see line 1"},
		{"trailing comma", "{\"mcpServers\": {\"a\": {\"T\": \"" + secret + "\",\n}}}", "not valid JSON: see line 1"},
		{"text behind", "{\"mcpServers\": {}}\n" + secret, "not valid JSON: see line 2"},
		{"a second object", "{}\n\n{\"T\": \"" + secret + "\"}", "not valid JSON: see line 3"},
		{"a bad escape", "{\"T\": \"" + secret + "\\x\"}", "not valid JSON: see line 1"},
		{"a control character", "{\"T\": \"" + secret + "\n\"}", "not valid JSON: see line 1"},
		{"dotenv", "TOKEN=" + secret, "not valid JSON: see line 1"},
		{"deep", strings.Repeat("[", 20_000) + secret, "not valid JSON: see line 1"},
	}
	for _, row := range rows {
		o := outcome{name: "mcp: " + row.name, tree: []string{".mcp.json = " + row.text}, want: []string{"mcp_config:.mcp.json ok"}}
		if row.want != "" {
			o.want = []string{"mcp_config:.mcp.json invalid " + row.want}
		}
		list = append(list, o)
	}
	return list
}

func textOutcomes() []outcome {
	tags := ""
	for _, c := range "obey" {
		tags += string(0xE0000 + c)
	}
	return []outcome{{
		name: "text that a person doesn't see",
		tree: []string{"AGENTS.md = a\u200bb\u202ec\u2066d" + tags + "\u2060\u00ad", skill("skills/one", "one") + "\u200e"},
		want: []string{"instruction_file:AGENTS.md ok", "skill:skills/one ok"},
		warn: []string{
			"AGENTS.md: contains 3 invisible, 2 bidirectional, 4 tag characters",
			"skills/one: contains 1 bidirectional characters",
		},
	}, {
		name: "text that only looks odd",
		tree: []string{"AGENTS.md = \ufeffGrüße, 你好, 👩‍👩‍👧 ❤️ नमस्ते"},
		want: []string{"instruction_file:AGENTS.md ok"},
	}, {
		name:  "text that isn't UTF-8",
		tree:  []string{"AGENTS.md = # a\xff\xfe\x00b", "CLAUDE.md = \x00\x01"},
		want:  []string{"instruction_file:AGENTS.md ok", "instruction_file:CLAUDE.md ok"},
		texts: map[string]string{"instruction_file:AGENTS.md": ": a   b"},
	}}
}

func rootOutcomes() []outcome {
	return []outcome{{
		name: "a root named skills",
		tree: []string{skill("skills/one", "one"), skill("skills/skills/two", "two"), "skills/AGENTS.md = a"},
		root: "skills",
		want: []string{"instruction_file:skills/AGENTS.md ok", "skill:skills/one ok", "skill:skills/skills/two ok"},
	}, {
		name: "a root of role skills",
		tree: []string{skill("stuff/one", "one"), skill("stuff/.claude/skills/two", "two"), "stuff/AGENTS.md = a", "stuff/.mcp.json = {}"},
		root: "stuff", role: abi.RoleSkills,
		want: []string{"skill:stuff/.claude/skills/two ok", "skill:stuff/one ok"},
	}, {
		name: "a root of role instructions",
		tree: []string{skill("stuff/skills/one", "one"), "stuff/AGENTS.md = a", "stuff/.mcp.json = {}", "stuff/other.md = b"},
		root: "stuff", role: abi.RoleInstructions,
		want: []string{"instruction_file:stuff/AGENTS.md ok"},
	}, {
		name: "a root of role mcp",
		tree: []string{skill("stuff/skills/one", "one"), "stuff/AGENTS.md = a", "stuff/.mcp.json = {}"},
		root: "stuff", role: abi.RoleMCP,
		want: []string{"mcp_config:stuff/.mcp.json ok"},
	}, {
		name: "one file, without a role",
		tree: []string{"AGENTS.md = a", "CLAUDE.md = b", ".mcp.json = {}", skill("skills/one", "one")},
		root: "AGENTS.md",
		want: []string{"instruction_file:AGENTS.md ok"},
	}, {
		name: "one file of another name, without a role",
		tree: []string{"rules.txt = a", "AGENTS.md = b"},
		root: "rules.txt",
	}, {
		name: "one file of role instructions",
		tree: []string{"rules.txt = a", "AGENTS.md = b"},
		root: "rules.txt", role: abi.RoleInstructions,
		want: []string{"instruction_file:rules.txt ok"},
	}, {
		name: "one file of role mcp",
		tree: []string{`servers.json = {"mcpServers": {"a": "` + secret + `"}}`, "AGENTS.md = b"},
		root: "servers.json", role: abi.RoleMCP,
		want: []string{`mcp_config:servers.json invalid server "a" is not an object`},
	}, {
		name: "one skill of role skills",
		tree: []string{skill("stuff/one", "one")},
		root: "stuff/one/SKILL.md", role: abi.RoleSkills,
		want: []string{"skill:stuff/one ok"},
	}, {
		name:  "several roots, one of them twice",
		tree:  []string{"a/AGENTS.md = a", "b/AGENTS.md = b", "b/CLAUDE.md -> ../a/AGENTS.md", "c -> a", skill("a/skills/one", "one"), skill("b/skills/one", "one")},
		roots: []host.RootSpec{{Path: "b"}, {Path: "a"}, {Path: "c"}, {Path: "missing", Optional: true}},
		want: []string{
			"instruction_file:a/AGENTS.md ok",
			"instruction_file:b/AGENTS.md ok",
			"instruction_file:b/CLAUDE.md invalid the link escapes the root",
			"skill:b/skills/one ok",
		},
	}, {
		name:  "a root in another, and an MCP file of a role",
		tree:  []string{"servers.json = {}", skill("skills/one", "one"), "AGENTS.md -> servers.json", "skills/AGENTS.md = a"},
		roots: []host.RootSpec{{Path: "."}, {Path: "skills"}, {Path: "servers.json", Role: abi.RoleMCP}},
		want:  []string{"instruction_file:skills/AGENTS.md ok", "mcp_config:servers.json ok", "skill:skills/one ok"},
		warn:  []string{hidden("AGENTS.md")},
	}}
}

func operatorOutcomes() []outcome {
	tree := []string{"AGENTS.md = a", "RULES.md = r", "docs/RULES.md = d", skill("skills/one", "one"), skill("skills/two", "two"), ".mcp.json = {}"}
	return []outcome{{
		name: "exclude", tree: tree, exclude: []string{"skills/t*", "AGENTS.md"},
		want: []string{"mcp_config:.mcp.json ok", "skill:skills/one ok"},
	}, {
		name: "exclude all", tree: tree, exclude: []string{"**"},
	}, {
		name: "exclude what a link leads to", tree: []string{"private/rules.md = " + secret, "AGENTS.md -> private/rules.md"},
		exclude: []string{"private/**"},
		warn:    []string{hidden("AGENTS.md")},
	}, {
		name: "a resolver turned off", tree: tree, disable: []string{"skills", "mcp-config"},
		want: []string{"instruction_file:AGENTS.md ok"},
	}, {
		name: "other file names", tree: tree,
		config:  map[string]string{"instructions": `{"file_names": ["RULES.md", "docs/RULES.md", "../x", "MISSING.md"]}`},
		disable: []string{"skills", "mcp-config"},
		want:    []string{"instruction_file:RULES.md ok"},
		warn: []string{
			`file_names: "docs/RULES.md" is not the name of a file at the top level; ignored`,
			`file_names: "../x" is not the name of a file at the top level; ignored`,
		},
	}, {
		name: "other file names that are secret or MCP", tree: []string{".env = " + secret, ".mcp.json = " + secret, "[a].md = a"},
		config:  map[string]string{"instructions": `{"file_names": [".env", ".mcp.json", "[a].md"]}`},
		disable: []string{"mcp-config"},
		want:    []string{"instruction_file:[a].md ok"},
	}}
}
