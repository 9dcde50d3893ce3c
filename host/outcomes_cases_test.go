package host_test

import (
	"fmt"
	"slices"
	"strings"

	"waymark/abi"
	"waymark/host"
	"waymark/snapshot"
)

// issueTree is the tree that the issue of this part describes.
func issueTree() []string {
	return []string{
		"AGENTS.md = # The rules\n\nBe kind.\n", "CLAUDE.md -> AGENTS.md", ".cursorrules -> AGENTS.md",
		skill("skills/one", "one"), skill(".agents/skills/two", "two"), skill(".claude/skills/three", "three"),
		skill(".codex/skills/four", "four"), skill("skills/wrong", "other"),
		`.mcp.json = {"mcpServers": {"github": {"command": "npx", "env": {"TOKEN": "` + secret + `"}}}}`,
	}
}

func basicOutcomes() []outcome {
	const links = "a link to a directory, where a file belongs"
	const through = "the link takes a file for a directory"
	return []outcome{{
		name: "the issue's tree",
		tree: issueTree(),
		want: []string{
			"instruction_file:AGENTS.md ok",
			"mcp_config:.mcp.json ok",
			"skill:.agents/skills/two ok",
			"skill:.claude/skills/three ok",
			"skill:.codex/skills/four ok",
			"skill:skills/one ok",
			"skill:skills/wrong ok",
		},
		texts: map[string]string{
			"instruction_file:AGENTS.md": ": The rules",
			"skill:skills/one":           "one: About one.",
			"mcp_config:.mcp.json":       ": ",
		},
	}, {
		name: "nothing",
		tree: []string{"README.md = x", "src/AGENTS.md = nested", "docs/skills/one/SKILL.md = x"},
	}, {
		name: "three files that are no links",
		tree: []string{"AGENTS.md = a", "CLAUDE.md = b", ".cursorrules = c"},
		want: []string{
			"instruction_file:.cursorrules ok", "instruction_file:AGENTS.md ok", "instruction_file:CLAUDE.md ok",
		},
	}, {
		name: "an empty file",
		tree: []string{"AGENTS.md = "},
		want: []string{"instruction_file:AGENTS.md ok"},
	}, {
		name: "wrong case",
		tree: []string{"agents.md = a", "Claude.md = b", ".CursorRules = c", "skills/one/skill.md = ---\nname: one\n---\n", ".MCP.json = {}"},
	}, {
		name: "directories in the place of files",
		tree: []string{"AGENTS.md/x = a", ".mcp.json/x = b", "skills/one/SKILL.md/x = c", "skills/two = a file"},
	}, {
		name: "links to directories in the place of files",
		tree: []string{"dir/", "AGENTS.md -> dir", ".mcp.json -> dir", "skills/one/SKILL.md -> ../../dir"},
		want: []string{
			"instruction_file:AGENTS.md invalid " + links,
			"mcp_config:.mcp.json invalid it is a directory",
			"skill:skills/one invalid SKILL.md is " + links,
		},
	}, {
		name: "two links to one directory in the place of files",
		tree: []string{
			"dir/", "AGENTS.md -> dir", "CLAUDE.md -> AGENTS.md", "kept/", ".claude -> kept", "kept/CLAUDE.md -> ../dir",
			"skills/one/SKILL.md -> ../../dir", "skills/two/SKILL.md -> ../../dir",
		},
		want: []string{
			"instruction_file:AGENTS.md invalid " + links,
			"instruction_file:CLAUDE.md invalid " + links,
			"instruction_file:kept/CLAUDE.md invalid " + links,
			"skill:skills/one invalid SKILL.md is " + links,
			"skill:skills/two invalid SKILL.md is " + links,
		},
	}, {
		name: "links that take a file for a directory",
		tree: []string{
			"file = x", "AGENTS.md -> file/", "CLAUDE.md -> file/below", ".mcp.json -> file/", "skills/one/SKILL.md -> ../../file/",
			".cursor/rules/a.mdc -> ../../file/", ".claude/settings.json -> ../file/", "skills/two -> ../file/",
		},
		want: []string{
			"hook:.claude/settings.json unreadable " + through,
			"instruction_file:.cursor/rules/a.mdc unreadable " + through,
			"instruction_file:AGENTS.md unreadable " + through,
			"instruction_file:CLAUDE.md unreadable " + through,
			"mcp_config:.mcp.json unreadable " + through,
			"skill:skills/one unreadable " + through,
		},
	}, {
		name: "links out of the root",
		tree: []string{
			"AGENTS.md -> $OUT/secret.txt", "CLAUDE.md -> ../out/secret.txt", ".mcp.json -> $OUT/secret.txt",
			"skills/one/SKILL.md -> $OUT/secret.txt", "skills/two -> $OUT/dir", ".agents/skills -> $OUT/dir", ".cursorrules -> /etc/passwd",
		},
		want: []string{
			"instruction_file:.cursorrules invalid the link escapes the root",
			"instruction_file:AGENTS.md invalid the link escapes the root",
			"instruction_file:CLAUDE.md invalid the link escapes the root",
			"mcp_config:.mcp.json invalid the link escapes the root",
			"skill:.agents/skills invalid the link escapes the root", "skill:skills/one invalid the link escapes the root",
			"skill:skills/two invalid the link escapes the root",
		},
	}, {
		name: "links that lead nowhere",
		tree: []string{"AGENTS.md -> nothing", "CLAUDE.md -> CLAUDE.md", "skills/one/SKILL.md -> nothing", ".mcp.json -> gone"},
		want: []string{
			"instruction_file:AGENTS.md unreadable the link is broken",
			"instruction_file:CLAUDE.md unreadable too many links",
			"mcp_config:.mcp.json unreadable the link is broken",
			"skill:skills/one unreadable the link is broken",
		},
	}, {
		name: "a chain of links",
		tree: []string{"docs/rules.md = r", "b -> docs/rules.md", "AGENTS.md -> b", "CLAUDE.md -> $ROOT/AGENTS.md", ".cursorrules -> ../root/docs/../b"},
		want: []string{"instruction_file:docs/rules.md ok"},
	}, {
		name: "what would block",
		tree: []string{"AGENTS.md |", "CLAUDE.md ^", "skills/one/SKILL.md |", ".mcp.json |", "pipe |", ".cursorrules -> pipe", "skills/two |"},
		want: []string{
			"instruction_file:AGENTS.md unreadable not a regular file",
			"instruction_file:CLAUDE.md unreadable not a regular file",
			"instruction_file:pipe unreadable not a regular file",
			"mcp_config:.mcp.json unreadable not a regular file",
			"skill:skills/one unreadable not a regular file",
		},
	}, {
		name: "sizes",
		caps: snapshot.Caps{MaxResourceBytes: 64 << 10},
		tree: []string{
			"AGENTS.md = 65536*x", "CLAUDE.md = 71680*x", ".cursorrules # 20000000", ".mcp.json = 70000*x",
			"skills/big/SKILL.md = ---\nname: big\n---\n" + strings.Repeat("x", 70_000),
		},
		want: []string{
			"instruction_file:.cursorrules oversize 20000000 bytes, at most 65536 are kept",
			"instruction_file:AGENTS.md ok",
			"instruction_file:CLAUDE.md oversize 71680 bytes, at most 65536 are kept",
			"mcp_config:.mcp.json oversize 70000 bytes, at most 65536 are kept",
			"skill:skills/big oversize 70018 bytes, at most 65536 are kept",
		},
	}, {
		name: "secret files",
		tree: []string{
			".env = TOKEN=" + secret, "AGENTS.md -> .env", "key.pem = " + secret, "CLAUDE.md -> key.pem",
			".git/config = " + secret, ".cursorrules -> .git/config", "skills/one/SKILL.md -> ../../.env",
		},
		warn: []string{
			hidden(".cursorrules"), hidden("AGENTS.md"), hidden("CLAUDE.md"),
			`dropped "skills/one": it names a file that the resolver may not read`,
		},
	}}
}

func skillOutcomes() []outcome {
	var many, kept, excluded []string
	for i := range 600 {
		name := fmt.Sprintf("s%03d", i)
		many = append(many, skill("skills/"+name, name))
		if i < 500 {
			kept = append(kept, "skill:skills/"+name+" ok")
		} else {
			excluded = append(excluded, "skill:skills/"+name+" excluded there are more than 500 resources")
		}
	}
	return []outcome{{
		name: "600 skills",
		caps: snapshot.Caps{MaxResources: 500},
		tree: many,
		want: slices.Concat(kept, excluded),
	}, {
		name: "more bytes than a snapshot holds",
		tree: []string{"AGENTS.md = 60000*x", "CLAUDE.md = 60000*y", ".cursorrules = 10*z"},
		caps: capsOf(100_000),
		want: []string{
			"instruction_file:.cursorrules ok", "instruction_file:AGENTS.md ok",
			"instruction_file:CLAUDE.md excluded all resources together have more than 100000 bytes",
		},
	}, {
		name: "one skill, linked from everywhere",
		tree: []string{
			skill("skills/one", "one"), ".agents/skills -> ../skills", ".claude/skills/one -> ../../skills/one",
			".codex/skills/other-name -> ../../skills/one",
		},
		want: []string{"skill:skills/one ok"},
	}, {
		name: "skills kept elsewhere",
		tree: []string{skill("shared/one", "one"), skill("lib/two", "two"), "skills -> shared", ".claude/skills/two -> $ROOT/lib/two"},
		want: []string{"skill:lib/two ok", "skill:shared/one ok"},
	}, {
		name: "a skill's text kept elsewhere",
		tree: []string{"texts/one.md = ---\nname: one\n---\n", "skills/one/SKILL.md -> ../../texts/one.md"},
		want: []string{"skill:skills/one ok"},
	}, {
		name: "all of a name",
		tree: []string{skill("skills/one", "one"), skill(".agents/skills/one", "one"), skill(".codex/skills/one", "one")},
		want: []string{"skill:.agents/skills/one ok", "skill:.codex/skills/one ok", "skill:skills/one ok"},
	}, {
		name: "an invalid skill doesn't take a name",
		tree: []string{skill("skills/one", "one"), ".agents/skills/two/SKILL.md = ---\nname: one\ndescription: [a]\n---\n"},
		want: []string{"skill:.agents/skills/two invalid description is not a string; put it in quotes", "skill:skills/one ok"},
	}, {
		name: "too deep, too high, not a directory",
		tree: []string{skill("skills/a/b", "b"), "skills/SKILL.md = x", "SKILL.md = x", ".agents/skills = a file", "skills/readme.md = x"},
	}, {
		name: "names that are not UTF-8",
		tree: []string{"skills/bad\xff/SKILL.md = x", skill("skills/one", "one"), "bad\xfe\xff = x", "AGENTS.md = a"},
		want: []string{"instruction_file:AGENTS.md ok", "skill:skills/one ok"},
		warn: []string{
			"2 names are not valid UTF-8 and not shown to the resolver",
			"1 name is not valid UTF-8 and not shown to the resolver",
			"1 name is not valid UTF-8 and not shown to the resolver",
		},
	}, {
		name: "odd names",
		tree: []string{skill("skills/Grün Zeug", "x"), skill("skills/a#b", "y"), skill("skills/new\nline", "z")},
		want: []string{"skill:skills/Grün Zeug ok", "skill:skills/a#b ok", "skill:skills/new\nline ok"},
	}}
}

// frontMatterOutcomes: each row is the text of skills/one/SKILL.md.
func frontMatterOutcomes() []outcome {
	const yes = "ok"
	rows := []struct{ name, text, want, texts string }{
		{"plain", "---\nname: one\ndescription: Does one thing\n---\nbody", yes, "one: Does one thing"},
		{"byte order mark and CRLF", "\ufeff---\r\nname: one\r\ndescription: Does it\r\n---\r\nbody\r\n", yes, "one: Does it"},
		{"blanks around the marks", "---  \nname: one\n---\t\nbody", yes, "one: "},
		{"no body", "---\nname: one\n---", yes, "one: "},
		{"double quotes", "---\nname: \"one\"\ndescription: \"a: b # c\"\n---\n", yes, "one: a: b # c"},
		{"single quotes", "---\nname: 'one'\ndescription: 'it''s'\n---\n", yes, "one: it's"},
		{"a folded description", "---\nname: one\ndescription: >-\n  first\n  second\n---\n", yes, "one: first second"},
		{"a literal description", "---\nname: one\ndescription: |\n  first\n  second\n---\n", yes, "one: first\nsecond"},
		{"a long plain description", "---\nname: one\ndescription: first\n  second\n---\n", yes, "one: first second"},
		{"unknown keys", "---\nname: one\nlicense: MIT\nallowed-tools: [Read, Grep]\nmetadata:\n  a: {b: c}\n---\n", yes, "one: "},
		{"an anchor", "---\nx: &n one\nname: *n\n---\n", yes, "one: "},
		{"null description", "---\nname: one\ndescription: ~\n---\n", yes, "one: "},
		{"flow style", "---\n{name: one, description: d}\n---\n", yes, "one: d"},
		{"a mark inside of a line", "---\nname: one\ndescription: a --- b\n---\n", yes, "one: a --- b"},
		{"no front matter", "# One\n", "no front matter: the first line is not ---", ""},
		{"empty", "", "no front matter: the first line is not ---", ""},
		{"not closed", "---\nname: one\n", "front matter is not closed: no line is just ---", ""},
		{"empty front matter", "---\n---\nbody", yes, ""},
		{"no name", "---\ndescription: d\n---\n", yes, ""},
		{"a number for a name", "---\nname: 17\n---\n", "name is not a string; put it in quotes", ""},
		{"a list for a name", "---\nname: [one]\n---\n", "name is not a string; put it in quotes", ""},
		{"capitals", "---\nname: One\n---\n", yes, ""},
		{"two hyphens", "---\nname: o--ne\n---\n", yes, ""},
		{"not ASCII", "---\nname: öne\n---\n", yes, ""},
		{"too long", "---\nname: " + strings.Repeat("a", 65) + "\n---\n", yes, ""},
		{"another directory's", "---\nname: two\n---\n", yes, ""},
		{"a list for a description", "---\nname: one\ndescription: [a]\n---\n", "description is not a string; put it in quotes", ""},
		{"a list of all", "---\n- name: one\n---\n", "front matter is not a mapping of keys to values", ""},
	}
	var list []outcome
	for _, row := range rows {
		o := outcome{name: "front matter: " + row.name, tree: []string{"skills/one/SKILL.md = " + row.text}}
		switch row.want {
		case yes:
			o.want = []string{"skill:skills/one ok"}
		default:
			o.want = []string{"skill:skills/one invalid " + row.want}
		}
		if row.texts != "" {
			o.texts = map[string]string{"skill:skills/one": row.texts}
		}
		list = append(list, o)
	}
	return list
}

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
		want: []string{"mcp_config:.cursor/mcp.json invalid invalid JSON in line 1: a value is expected"},
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
		{"byte order mark", "\ufeff" + `{"mcpServers": {"a": {}}}`, "invalid JSON in line 1: it begins with a byte order mark"},
		{"empty file", "", "invalid JSON in line 1: unexpected end"},
		{"a string", `"` + secret + `"`, "it is a string, not an object"},
		{"a list", `["` + secret + `"]`, "it is a list, not an object"},
		{"servers are a list", `{"mcpServers": ["` + secret + `"]}`, "mcpServers is a list, not an object"},
		{"servers are a string", `{"mcpServers": "` + secret + `"}`, "mcpServers is a string, not an object"},
		{"a server is a string", `{"mcpServers": {"a": {}, "github": "` + secret + `"}}`, ""},
		{"a server is a list", `{"mcpServers": {"github": ["` + secret + `"]}}`, ""},
		{"servers twice", `{"mcpServers": null, "mcpServers": {"b": "` + secret + `"}}`, ""},
		{"cut off in a value", "{\"mcpServers\": {\n\"a\": {\"env\": {\"T\": \"" + secret, "invalid JSON in line 2: unexpected end"},
		{"cut off after a value", "{\"mcpServers\": {\"a\": {\"T\": \"" + secret + "\"", "invalid JSON in line 1: unexpected end"},
		{"bare word", "{\"mcpServers\": {\"a\":\n" + secret + "}}", "invalid JSON in line 2: a value is expected"},
		{"single quotes", "{\n\n'T': '" + secret + "'}", "invalid JSON in line 3: a key is expected"},
		{"a comment", "{ // " + secret + "\n}", "invalid JSON in line 1: a key is expected"},
		{"trailing comma", "{\"mcpServers\": {\"a\": {\"T\": \"" + secret + "\",\n}}}", "invalid JSON in line 2: a key is expected"},
		{"text behind", "{\"mcpServers\": {}}\n" + secret, "invalid JSON in line 2: unexpected text after the value"},
		{"a second object", "{}\n\n{\"T\": \"" + secret + "\"}", "invalid JSON in line 3: unexpected text after the value"},
		{"a bad escape", "{\"T\": \"" + secret + "\\x\"}", "invalid JSON in line 1: an unknown escape"},
		{"a control character", "{\"T\": \"" + secret + "\n\"}", "invalid JSON in line 1: a control character in a string"},
		{"dotenv", "TOKEN=" + secret, "invalid JSON in line 1: a value is expected"},
		{"deep", strings.Repeat("[", 20_000) + secret, "invalid JSON in line 1: nested deeper than 128 levels"},
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
		tree: []string{`servers.json = {"mcpServers": "` + secret + `"}`, "AGENTS.md = b"},
		root: "servers.json", role: abi.RoleMCP,
		want: []string{`mcp_config:servers.json invalid mcpServers is a string, not an object`},
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
			"skill:a/skills/one ok", "skill:b/skills/one ok",
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
		name: "a resolver turned off", tree: tree, disable: []string{"context"},
		want: []string{"mcp_config:.mcp.json ok"},
	}, {
		name: "other file names", tree: tree,
		config:  map[string]string{"context": `{"file_names": ["RULES.md", "docs/RULES.md", "../x", "MISSING.md"]}`},
		disable: []string{"mcp-config"},
		want:    []string{"instruction_file:RULES.md ok", "skill:skills/one ok", "skill:skills/two ok"},
		warn: []string{
			`file_names: "docs/RULES.md" is not the name of a file at the top level; ignored`,
			`file_names: "../x" is not the name of a file at the top level; ignored`,
		},
	}, {
		name: "other file names that are secret or MCP", tree: []string{".env = " + secret, ".mcp.json = " + secret, "[a].md = a"},
		config:  map[string]string{"context": `{"file_names": [".env", ".mcp.json", "[a].md"]}`},
		disable: []string{"mcp-config"},
		want:    []string{"instruction_file:[a].md ok"},
	}}
}
