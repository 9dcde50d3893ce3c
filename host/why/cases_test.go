package why_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"waymark/abi"
	"waymark/host/resolve"
	"waymark/host/why"
	"waymark/snapshot"
)

func allQuestions() []questions {
	return slices.Concat(plainQuestions(), linkQuestions(), statusQuestions(), operatorQuestions(), rootQuestions(), otherQuestions())
}

func plainQuestions() []questions {
	return []questions{{
		name: "what is found",
		world: world{tree: []string{
			"AGENTS.md = # Rules\n", "CLAUDE.md -> AGENTS.md", skill("skills/one", "one"), "skills/one/scripts/run.sh = x",
			"skills/one/AGENTS.md = nested in a skill", skill(".agents/skills/two", "two"), skill("skills/wrong", "[other]"),
			"skills/empty/notes.md = x", "skills/small/skill.md = x", "skills/readme.md = x",
			`.mcp.json = {"mcpServers": {"a": {"env": {"T": "` + secret + `"}}}}`, "README.md = x", "src/main.go = x",
			".cursor/rules/deep/notes.md = x", ".github/instructions/a.md = x",
		}},
		asks: []ask{
			{"AGENTS.md", why.ReasonFound, true, "instruction_file:AGENTS.md", "8 bytes"},
			{"AGENTS.md/", why.ReasonFound, true, "instruction_file:AGENTS.md", ""},
			{"./src/../AGENTS.md", why.ReasonFound, true, "instruction_file:AGENTS.md", ""},
			{"CLAUDE.md", why.ReasonCollapsedInto, true, "instruction_file:AGENTS.md", "a link to what is listed as instruction_file:AGENTS.md"},
			{"skills/one", why.ReasonFound, true, "skill:skills/one", "skill"},
			{"skills/one/", why.ReasonFound, true, "skill:skills/one", "skill"},
			{"skills/one/SKILL.md", why.ReasonFound, true, "skill:skills/one", "the text of the skill skills/one"},
			{".agents/skills/two/SKILL.md", why.ReasonFound, true, "skill:.agents/skills/two", ""},
			{".mcp.json", why.ReasonFound, true, "mcp_config:.mcp.json", "stays on this machine"},
			{"skills/one/scripts/run.sh", why.ReasonNotAKnownPlace, false, "skill:skills/one", "only SKILL.md is sent; the agent may read it in the workspace"},
			{"skills/one/scripts", why.ReasonNotAKnownPlace, false, "skill:skills/one", "part of the directory of the skill"},
			{"skills/one/AGENTS.md", why.ReasonNotAKnownPlace, false, "skill:skills/one", "only SKILL.md"},
			{"skills/one/none.md", why.ReasonMissing, false, "", "no such file"},
			{"skills/wrong", why.ReasonInvalid, false, "skill:skills/wrong", "name is not a string"},
			{"skills/wrong/SKILL.md", why.ReasonInvalid, false, "skill:skills/wrong", "name is not a string"},
			{"skills/empty", why.ReasonMissing, false, "", "waymark/context looks for SKILL.md in it, and there is none"},
			{"skills/empty/SKILL.md", why.ReasonMissing, false, "", "waymark/context looks for it"},
			{"skills/empty/notes.md", why.ReasonNotAKnownPlace, false, "", "no resolver"},
			{"skills/small", why.ReasonWrongCase, false, "", "only skills/small/skill.md"},
			{"skills/small/skill.md", why.ReasonWrongCase, false, "", "looks for skills/small/SKILL.md, in exact case"},
			{"skills/small/SKILL.md", why.ReasonWrongCase, false, "", "rename that"},
			{"skills/readme.md", why.ReasonNotAKnownPlace, false, "", "is a file, where waymark/context looks for a directory"},
			{"skills", why.ReasonNotAKnownPlace, false, "", "1 resource below it is in the context"},
			{"README.md", why.ReasonNotAKnownPlace, false, "", "no resolver here looks at this place"},
			{".cursor/rules/deep/notes.md", why.ReasonNotAKnownPlace, false, "", "rules are looked for in this directory, by cursor, and only those whose name is like *.mdc: rename it, if it is one"},
			{".github/instructions/a.md", why.ReasonNotAKnownPlace, false, "", "like *.instructions.md"},
			{"src", why.ReasonNotAKnownPlace, false, "", "no resolver"},
			{".codex", why.ReasonMissing, false, "", "no such file"},
			{".codex/skills/x/SKILL.md", why.ReasonMissing, false, "", "waymark/context looks for it"},
			{"nothing/at/all", why.ReasonMissing, false, "", "no resolver here would look at it"},
			{"AGENTS.md/below", why.ReasonMissing, false, "", "is a file and not a directory"},
			{"", why.ReasonNotAKnownPlace, false, "", "a root, in which"},
			{"/", why.ReasonOutsideRoots, false, "", ". below it is one"},
			{"$OUT/secret.txt", why.ReasonOutsideRoots, false, "", "not in the root"},
			{"$OUT/dir", why.ReasonOutsideRoots, false, "", "agent sources add"},
			{"$OUT/x/AGENTS.md", why.ReasonOutsideRoots, false, "", "/out/x'"},
			{"$OUT/x/.agents/skills/one/SKILL.md", why.ReasonOutsideRoots, false, "", "/out/x'"},
		},
	}, {
		name: "case and depth",
		world: world{tree: []string{
			"agents.md = a", "Claude.md = b", ".CursorRules = c", ".MCP.json = {}", "Skills/one/SKILL.md = x",
			"sub/AGENTS.md = n", "sub/deep/.mcp.json = {}", skill("sub/.agents/skills/two", "two"), skill("skills2/skills/group/three", "three"),
			skill("skills/group/four", "four"), "sub/SKILL.md = x", "sub/agents.md = x", "SKILL.md = x", "GEMINI.md = g", "sub/GEMINI.md = g",
		}},
		asks: []ask{
			{"agents.md", why.ReasonWrongCase, false, "", "waymark/context looks for AGENTS.md, in exact case: rename it"},
			{"AGENTS.md", why.ReasonWrongCase, false, "", "there is only agents.md"},
			{"Agents.md", why.ReasonWrongCase, false, "", "only agents.md: ask for that"},
			{"Claude.md", why.ReasonWrongCase, false, "", "CLAUDE.md"},
			{".CursorRules", why.ReasonWrongCase, false, "", ".cursorrules"},
			{".MCP.json", why.ReasonWrongCase, false, "", ".mcp.json"},
			{"Skills/one/SKILL.md", why.ReasonWrongCase, false, "", "skills/one/SKILL.md"},
			{"Skills", why.ReasonWrongCase, false, "", "waymark/context looks for skills, in exact case"},
			{"SUB/AGENTS.md", why.ReasonWrongCase, false, "", "sub/AGENTS.md: ask for that"},
			{"sub/AGENTS.md", why.ReasonNested, false, "", "'agent for sub/' lists it"},
			{"sub/AGENTS.md", why.ReasonNested, false, "", "; 'agent for sub/' lists it, with all else that applies to files there"},
			{"sub/.agents/skills", why.ReasonNested, false, "", "'agent for sub/' lists it"},
			{"sub/deep/.mcp.json", why.ReasonNested, false, "", "agent sources add sub/deep'"},
			{"sub/.agents/skills/two/SKILL.md", why.ReasonNested, false, "", "agent for sub/'"},
			{"sub/.agents/skills/two", why.ReasonNested, false, "", "agent for sub/'"},
			{"skills2/skills/group/three/SKILL.md", why.ReasonNotAKnownPlace, false, "", "no resolver here looks at this place"},
			{"skills2/skills", why.ReasonNested, false, "", "agent sources add skills2'"},
			{"skills/group/four/SKILL.md", why.ReasonNested, false, "", "doesn't look so deep: move it to skills/four/SKILL.md"},
			{"skills/group/four", why.ReasonNested, false, "", "move it to skills/four"},
			{"sub/SKILL.md", why.ReasonNotAKnownPlace, false, "", "no resolver here looks at this place"},
			{"SKILL.md", why.ReasonNotAKnownPlace, false, "", "Claude Code and Cursor read it as the one skill of a plugin"},
			{"sub/agents.md", why.ReasonWrongCase, false, "", "read AGENTS.md as instructions, in exact case"},
			{"GEMINI.md", why.ReasonFound, true, "instruction_file:GEMINI.md", ""},
			{"sub/GEMINI.md", why.ReasonNested, false, "", "'agent for sub/' lists it, with all else that applies to files there; a source would have it apply everywhere; GitHub Copilot and Gemini CLI read it as instructions"},
		},
	}}
}

func linkQuestions() []questions {
	return []questions{{
		name: "links",
		world: world{tree: []string{
			"docs/rules.md = r", "b -> docs/rules.md", "AGENTS.md -> b", "other.md -> AGENTS.md", "docs2 -> docs",
			skill("lib/one", "one"), "skills/one -> ../lib/one", ".claude/skills -> ../skills", skill("real/two", "two"), ".agents/skills -> ../real",
			"texts/three.md = ---\nname: three\n---\n", "skills/three/SKILL.md -> ../../texts/three.md",
			"CLAUDE.md -> nothing", ".cursorrules -> .cursorrules", ".mcp.json -> $OUT/secret.txt", "skills/four/SKILL.md -> gone",
			".codex/skills -> $OUT/dir", "skills/five -> $OUT/dir", "skills/six/SKILL.md -> ../../docs", "notes.md -> nowhere", "gone -> nowhere",
			"ext -> $OUT/dir", "self -> .",
		}},
		asks: []ask{
			{"AGENTS.md", why.ReasonFound, true, "instruction_file:docs/rules.md", "a link, listed under the path it leads to"},
			{"docs/rules.md", why.ReasonFound, true, "instruction_file:docs/rules.md", "found as AGENTS.md"},
			{"b", why.ReasonCollapsedInto, true, "instruction_file:docs/rules.md", "a link to docs/rules.md"},
			{"other.md", why.ReasonCollapsedInto, true, "instruction_file:docs/rules.md", ""},
			{"docs2/rules.md", why.ReasonFound, true, "instruction_file:docs/rules.md", "through a link, as docs/rules.md"},
			{"self/self/docs/rules.md", why.ReasonFound, true, "instruction_file:docs/rules.md", "through a link"},
			{"skills/one", why.ReasonCollapsedInto, true, "skill:lib/one", "a link to what is listed as skill:lib/one"},
			{"lib/one", why.ReasonFound, true, "skill:lib/one", "found as"},
			{"lib/one/SKILL.md", why.ReasonFound, true, "skill:lib/one", "the text of the skill lib/one"},
			{".claude/skills/one", why.ReasonFound, true, "skill:lib/one", "a link, listed under the path it leads to"},
			{".claude/skills/one/SKILL.md", why.ReasonFound, true, "skill:lib/one", ""},
			{"skills/one/SKILL.md", why.ReasonCollapsedInto, true, "skill:lib/one", ""},
			{".agents/skills/two", why.ReasonFound, true, "skill:real/two", ""},
			{".agents/skills/two/SKILL.md", why.ReasonFound, true, "skill:real/two", ""},
			{"real/two/SKILL.md", why.ReasonFound, true, "skill:real/two", ""},
			{"skills/three", why.ReasonFound, true, "skill:skills/three", ""},
			{"skills/three/SKILL.md", why.ReasonFound, true, "skill:skills/three", ""},
			{"texts/three.md", why.ReasonFound, true, "skill:skills/three", "the text of the skill skills/three"},
			{"CLAUDE.md", why.ReasonLinkBroken, false, "instruction_file:CLAUDE.md", "leads to nothing, which doesn't exist"},
			{".cursorrules", why.ReasonLinkBroken, false, "instruction_file:.cursorrules", "in circles"},
			{".mcp.json", why.ReasonLinkEscapes, false, "mcp_config:.mcp.json", "out of the root"},
			{"skills/four", why.ReasonLinkBroken, false, "skill:skills/four", "leads to gone"},
			{"skills/four/SKILL.md", why.ReasonLinkBroken, false, "skill:skills/four", "leads to gone"},
			{"skills/five", why.ReasonLinkEscapes, false, "skill:skills/five", "out of the root"},
			{"skills/five/SKILL.md", why.ReasonLinkEscapes, false, "skill:skills/five", "out of the root"},
			{"skills/six", why.ReasonInvalid, false, "skill:skills/six", "a link to a directory"},
			{"skills/six/SKILL.md", why.ReasonInvalid, false, "skill:skills/six", "a link to a directory"},
			{".codex/skills", why.ReasonLinkEscapes, false, "skill:.codex/skills", "links are followed inside of it only"},
			{".codex/skills/x/SKILL.md", why.ReasonLinkEscapes, false, "skill:.codex/skills", "out of the root"},
			{"ext/file", why.ReasonLinkEscapes, false, "", "out of the root"},
			{"notes.md", why.ReasonLinkBroken, false, "", "leads to nowhere"},
			{"gone/x", why.ReasonLinkBroken, false, "", "gone is a link to what doesn't exist"},
			{"self", why.ReasonNotAKnownPlace, false, "", "a directory"},
		},
	}, {
		name: "what protects",
		world: world{tree: []string{
			".env = T=" + secret, "AGENTS.md -> .env", "CLAUDE.md -> .mcp.json", `.mcp.json = {"mcpServers": {"a": {"env": {"T": "` + secret + `"}}}}`,
			".cursorrules => .env", ".git/config = " + secret, "skills/one/SKILL.md -> ../../.env", "notes.md -> .git/config",
			".cursor/mcp.json = " + secret, ".vscode/mcp.json = " + secret, "key.pem = x", "readme.md -> .mcp.json",
		}},
		asks: []ask{
			{".env", why.ReasonHiddenSecret, false, "", "on the secret list (.env*:"},
			{".env.local", why.ReasonHiddenSecret, false, "", "grant_secrets"},
			{".git/config", why.ReasonHiddenSecret, false, "", ".git/**"},
			{"sub/key.pem", why.ReasonHiddenSecret, false, "", "*.pem"},
			{"AGENTS.md", why.ReasonHiddenSecret, false, "", "leads to .env, which is on the secret list (.env*"},
			{".cursorrules", why.ReasonHiddenSecret, false, "", "a hard link"},
			{"notes.md", why.ReasonHiddenSecret, false, "", "leads to .git, which is on the secret list (.git/**"},
			{"CLAUDE.md", why.ReasonNotGranted, false, "", "leads to .mcp.json, which is MCP configuration"},
			{"readme.md", why.ReasonCollapsedInto, true, "mcp_config:.mcp.json", ""},
			{"skills/one/SKILL.md", why.ReasonHiddenSecret, false, "", "leads to .env"},
			{"skills/one", why.ReasonHiddenSecret, false, "", "SKILL.md leads to .env"},
			{".vscode/mcp.json", why.ReasonInvalid, false, "mcp_config:.vscode/mcp.json", "invalid JSON in line 1: a value is expected"},
			{".cursor/mcp.json", why.ReasonInvalid, false, "mcp_config:.cursor/mcp.json", "invalid JSON in line 1: a value is expected"},
		},
	}}
}

func statusQuestions() []questions {
	return []questions{{
		name: "sizes and types",
		world: world{tree: []string{
			"AGENTS.md = 262145*x", "CLAUDE.md # 20000000", ".mcp.json |", ".cursorrules ^", "skills/one/SKILL.md |", "pipe |",
			"skills/big/SKILL.md # 20000000", "skills/two |", ".gemini/skills/three/SKILL.md/x = y", ".codex/skills = a file",
		}},
		asks: []ask{
			{"AGENTS.md", why.ReasonOversize, false, "instruction_file:AGENTS.md", "262145 bytes, at most 262144 are kept"},
			{"CLAUDE.md", why.ReasonOversize, false, "instruction_file:CLAUDE.md", "20000000 bytes"},
			{"skills/big", why.ReasonOversize, false, "skill:skills/big", "20000000 bytes"},
			{"skills/big/SKILL.md", why.ReasonOversize, false, "skill:skills/big", "max_resource_bytes"},
			{".mcp.json", why.ReasonNotRegular, false, "mcp_config:.mcp.json", "FIFO"},
			{".cursorrules", why.ReasonNotRegular, false, "instruction_file:.cursorrules", "socket"},
			{"skills/one", why.ReasonNotRegular, false, "skill:skills/one", "FIFO"},
			{"skills/one/SKILL.md", why.ReasonNotRegular, false, "skill:skills/one", "FIFO"},
			{"pipe", why.ReasonNotRegular, false, "", "FIFO"},
			{"skills/two", why.ReasonNotRegular, false, "", "FIFO"},
			{".gemini/skills/three/SKILL.md", why.ReasonNotRegular, false, "", "is a directory, where a file belongs"},
			{".gemini/skills/three/SKILL.md/x", why.ReasonNotAKnownPlace, false, "", ""},
			{".codex/skills", why.ReasonNotAKnownPlace, false, "", "is a file, where waymark/context looks for a directory"},
			{".codex/skills/x/SKILL.md", why.ReasonMissing, false, "", "is a file and not a directory"},
		},
	}, {
		name:  "a directory named like a file",
		world: world{tree: []string{"AGENTS.md/x = a", ".mcp.json/x = b"}},
		asks: []ask{
			{"AGENTS.md", why.ReasonNotRegular, false, "", "AGENTS.md is a directory, where a file belongs"},
			{".mcp.json", why.ReasonNotRegular, false, "", "is a directory"},
			{"AGENTS.md/x", why.ReasonNotAKnownPlace, false, "", ""},
		},
	}, {
		name: "the list is full",
		world: world{
			tree: []string{"AGENTS.md = a", "CLAUDE.md = b", skill("skills/one", "one"), skill("skills/two", "two")},
			caps: snapshot.Caps{MaxResources: 2, MaxListed: 3},
		},
		asks: []ask{
			{"AGENTS.md", why.ReasonFound, true, "instruction_file:AGENTS.md", ""},
			{"skills/one", why.ReasonExcluded, false, "skill:skills/one", "there are more than 2 resources"},
			{"skills/one/SKILL.md", why.ReasonExcluded, false, "skill:skills/one", "listed without its text"},
			{"skills/two", why.ReasonExcluded, false, "skill:skills/two", "not listed"},
		},
	}, {
		name: "all of a name",
		world: world{tree: []string{
			skill("skills/one", "one"), skill(".agents/skills/one", "one"), "skills/one/extra.md = x", skill("skills/bad", "[one]"),
		}},
		asks: []ask{
			{".agents/skills/one", why.ReasonFound, true, "skill:.agents/skills/one", ""},
			{"skills/one", why.ReasonFound, true, "skill:skills/one", ""},
			{"skills/one/extra.md", why.ReasonNotAKnownPlace, false, "skill:skills/one", "of which only SKILL.md is sent"},
			{"skills/bad", why.ReasonInvalid, false, "skill:skills/bad", "name is not a string"},
		},
	}, {
		name:  "a link to what is too large",
		world: world{tree: []string{"AGENTS.md = 262145*x", "CLAUDE.md -> AGENTS.md", "README.md -> AGENTS.md"}},
		asks: []ask{
			{"CLAUDE.md", why.ReasonCollapsedInto, false, "instruction_file:AGENTS.md", "which is oversize"},
			{"README.md", why.ReasonOversize, false, "instruction_file:AGENTS.md", "a link to AGENTS.md"},
		},
	}, {
		name:  "an MCP configuration that is wrong",
		world: world{tree: []string{".mcp.json = {\"mcpServers\": \"" + secret + "\"}"}},
		asks: []ask{
			{".mcp.json", why.ReasonInvalid, false, "mcp_config:.mcp.json", "mcpServers is a string, not an object"},
		},
	}, {
		name:  "front matter over several lines",
		world: world{tree: []string{"skills/one/SKILL.md = ---\nname: [\n---\n"}},
		asks: []ask{
			{"skills/one", why.ReasonInvalid, false, "skill:skills/one", ""},
		},
	}}
}

func operatorQuestions() []questions {
	rows := func(list string) []byte { return []byte(`{"row": [` + list + `]}`) }
	return []questions{{
		name: "exclude",
		world: world{
			tree: []string{
				"AGENTS.md = a", skill("skills/one", "one"), skill("skills/two", "two"), "private/rules.md = " + secret, "CLAUDE.md -> private/rules.md",
			},
			exclude: []string{"skills/t*", "private/**", "AGENTS.md"},
		},
		asks: []ask{
			{"AGENTS.md", why.ReasonExcludedByConfig, false, "", "matches a pattern of exclude"},
			{"skills/two", why.ReasonExcludedByConfig, false, "", ""},
			{"skills/two/SKILL.md", why.ReasonExcludedByConfig, false, "", ""},
			{"private/nothing.md", why.ReasonExcludedByConfig, false, "", ""},
			{"CLAUDE.md", why.ReasonExcludedByConfig, false, "", "leads to private"},
			{"skills/one/SKILL.md", why.ReasonFound, true, "skill:skills/one", ""},
		},
	}, {
		name: "other file names",
		world: world{
			tree:   []string{"RULES.md = r", "AGENTS.md = a", "docs/RULES.md = d", "rules.md = x", ".env = " + secret, "sub/RULES.md = n"},
			config: map[string]string{"context": `{"file_names": ["RULES.md", "docs/RULES.md", "MISSING.md", ".env"]}`},
		},
		asks: []ask{
			{"RULES.md", why.ReasonFound, true, "instruction_file:RULES.md", ""},
			{"AGENTS.md", why.ReasonNotAKnownPlace, false, "", "waymark/context may read it"},
			{"docs/RULES.md", why.ReasonNotAKnownPlace, false, "", "waymark/context may read it"},
			{"MISSING.md", why.ReasonMissing, false, "", "waymark/context looks for it"},
			{"rules.md", why.ReasonWrongCase, false, "", "RULES.md"},
			{"sub/RULES.md", why.ReasonNested, false, "", "agent sources add sub'"},
			{".env", why.ReasonHiddenSecret, false, "", ".env*"},
		},
	}, {
		name: "resolvers turned off",
		world: world{
			tree:    []string{"AGENTS.md = a", skill("skills/one", "one"), ".mcp.json = {}"},
			disable: []string{"context", "mcp-config"},
		},
		asks: []ask{
			{"AGENTS.md", why.ReasonNotAKnownPlace, false, "", "Claude Code, Codex, Cursor, GitHub Copilot, Amp and 26 other agents read it as instructions"},
			{".mcp.json", why.ReasonNotAKnownPlace, false, "", "Claude Code, GitHub Copilot and Qwen Code read it as MCP configuration"},
			{"skills/one", why.ReasonNotAKnownPlace, false, "", ""},
		},
	}, {
		name:  "no resolvers at all",
		world: world{tree: []string{"AGENTS.md = a", "x.md = x"}, disable: []string{"context", "hooks", "mcp-config"}, plugins: nil},
		asks:  []ask{{"x.md", why.ReasonNotAKnownPlace, false, "", "no resolver"}},
	}, {
		name: "a plugin, narrowed and granted",
		world: world{
			tree: []string{
				"docs/a.md = a", "docs/b.md = b", "docs/.env = x", "docs/.mcp.json = {}", "docs/sub/c.md = c", "other.md = o",
				"docs/skill/main.md = main\n", "docs/skill/more.md = more\n", "docs/odd/main.md/x = x", "docs/odd/more/x = x",
			},
			plugins: []resolve.Resolver{{
				Config:       rows(`"command|docs/a.md|docs/a.md", "command|docs/a.md||inline|||two", "skill|docs/skill|docs/skill/main.md", "skill|docs/odd|docs/odd/main.md", "command|other.md|docs/.env"`),
				Narrow:       []string{"docs/a.md", "docs/.env", "docs/skill/**", "docs/odd/**", "docs/.mcp.json"},
				GrantSecrets: []string{".env*"},
			}},
		},
		asks: []ask{
			{"docs/a.md", why.ReasonFound, true, "command:docs/a.md", "1 more resource comes from it"},
			{"docs/b.md", why.ReasonNotGranted, false, "", "narrowed what it may read: see reads of the plugin dropin"},
			{"docs/.env", why.ReasonNotAKnownPlace, false, "", "dropin/rows may read it"},
			{"docs/.mcp.json", why.ReasonNotGranted, false, "", "sole kind is mcp_config"},
			{"docs/skill/main.md", why.ReasonFound, true, "skill:docs/skill", "the text of the skill docs/skill"},
			{"docs/skill/more.md", why.ReasonNotAKnownPlace, false, "skill:docs/skill", "only main.md is sent"},
			{"docs/odd/main.md", why.ReasonInvalid, false, "skill:docs/odd", "it is a directory"},
			{"docs/odd/more", why.ReasonNotAKnownPlace, false, "skill:docs/odd", "part of the directory of the skill"},
			{"other.md", why.ReasonNotGranted, false, "", "not in the reads that the resolver declares"},
		},
	}, {
		name: "a resolver that fails",
		world: world{
			tree: []string{"docs/a.md = a", "docs/b/c.md = c", "AGENTS.md = a"}, plugins: []resolve.Resolver{{Config: []byte(`{"panic": "boom\nboom"}`)}},
		},
		asks: []ask{
			{"docs/a.md", why.ReasonResolverFailed, false, "", "dropin/rows, which may look at it, failed in this root: dropin/rows: crashed"},
			{"docs/b", why.ReasonResolverFailed, false, "", "crashed"},
			{"docs/none.md", why.ReasonMissing, false, "", ""},
			{"AGENTS.md", why.ReasonFound, true, "instruction_file:AGENTS.md", ""},
			{"x", why.ReasonMissing, false, "", ""},
		},
	}, {
		name: "a resolver that fails later",
		world: world{
			tree: []string{"a.md = a", "b.md = b", "gone.md = g"}, plugins: []resolve.Resolver{{}}, module: flaky,
			after: func(t testing.TB, dir string) {
				put(t, dir, "error", "")
				put(t, dir, "b.md", "changed")
				put(t, dir, "new.md", "new")
			},
		},
		asks: []ask{
			{"a.md", why.ReasonFound, true, "instruction_file:a.md", "the resolver failed since"},
			{"b.md", why.ReasonFound, true, "instruction_file:b.md", "error is there"},
			{"new.md", why.ReasonResolverFailed, false, "", "error is there"},
		},
	}}
}

func rootQuestions() []questions {
	return []questions{{
		name: "a root named skills",
		world: world{
			tree: []string{skill("skills/one", "one"), skill("skills/group/two", "two"), "skills/three/notes.md = x", "AGENTS.md = above"},
			root: "skills",
		},
		asks: []ask{
			{"skills/one/SKILL.md", why.ReasonFound, true, "skill:skills/one", ""},
			{"skills/group/two/SKILL.md", why.ReasonNested, false, "", "looks for two/SKILL.md right below the root: move it there"},
			{"skills/three", why.ReasonMissing, false, "", "looks for SKILL.md in it"},
			{"AGENTS.md", why.ReasonOutsideRoots, false, "", "not in the root: add one with"},
			{"", why.ReasonOutsideRoots, false, "", "skills below it is one"},
		},
	}, {
		name:  "a role",
		world: world{tree: []string{"stuff/AGENTS.md = a", skill("stuff/one", "one"), "stuff/x/AGENTS.md = n"}, root: "stuff", role: abi.RoleSkills},
		asks: []ask{
			{"stuff/one", why.ReasonFound, true, "skill:stuff/one", ""},
			{"stuff/AGENTS.md", why.ReasonNotAKnownPlace, false, "", "the root is looked at for skills only"},
		},
	}, {
		name: "roots of one file",
		world: world{
			tree: []string{"rules.txt = r", "AGENTS.md = a", `servers.json = {"mcpServers": {}}`, skill("stuff/one", "one"), "other.txt = o"},
			roots: []rootSpec{
				{"rules.txt", abi.RoleInstructions, false}, {"servers.json", abi.RoleMCP, false}, {"stuff/one/SKILL.md", abi.RoleSkills, false},
				{"other.txt", abi.RoleNone, true},
			},
			mcpFiles: []string{"servers.json"},
		},
		asks: []ask{
			{"rules.txt", why.ReasonFound, true, "instruction_file:rules.txt", ""},
			{"servers.json", why.ReasonFound, true, "mcp_config:servers.json", ""},
			{"stuff/one/SKILL.md", why.ReasonFound, true, "skill:stuff/one", ""},
			{"stuff/one", why.ReasonFound, true, "skill:stuff/one", ""},
			{"other.txt", why.ReasonNotAKnownPlace, false, "", "a root by itself, but no resolver takes a file of this name"},
			{"AGENTS.md", why.ReasonOutsideRoots, false, "", "of this directory is a root"},
		},
	}, {
		name: "roots in roots, and through links",
		world: world{
			tree: []string{
				"home/proj -> ../data/proj", "data/proj/AGENTS.md = a", "data/proj/CLAUDE.md -> AGENTS.md", "data/proj/agents.md = x", "data/proj/sub/AGENTS.md = s",
				skill("data/proj/sub/skills/one", "one"), "home/AGENTS.md = h", "data/proj/sub/deep/AGENTS.md = d", "data/proj/README.md = r",
			},
			roots: []rootSpec{{"home", "", false}, {"home/proj", "", false}, {"data/proj/sub", "", true}, {"data/proj/sub/skills", "", true}},
		},
		asks: []ask{
			{"home/AGENTS.md", why.ReasonFound, true, "instruction_file:home/AGENTS.md", ""},
			{"home/proj/AGENTS.md", why.ReasonFound, true, "instruction_file:data/proj/AGENTS.md", "through a link, as data/proj/AGENTS.md"},
			{"data/proj/AGENTS.md", why.ReasonFound, true, "instruction_file:data/proj/AGENTS.md", ""},
			{"home/proj/CLAUDE.md", why.ReasonCollapsedInto, true, "instruction_file:data/proj/AGENTS.md", ""},
			{"home/proj/agents.md", why.ReasonWrongCase, false, "", "AGENTS.md"},
			{"home/proj/README.md", why.ReasonNotAKnownPlace, false, "", ""},
			{"data/proj/sub/AGENTS.md", why.ReasonFound, true, "instruction_file:data/proj/sub/AGENTS.md", ""},
			{"data/proj/sub/skills/one/SKILL.md", why.ReasonFound, true, "skill:data/proj/sub/skills/one", ""},
			{"data/proj/sub/deep/AGENTS.md", why.ReasonNested, false, "", "agent for data/proj/sub/deep/'"},
			{"data", why.ReasonOutsideRoots, false, "", "below it is one"},
		},
	}, {
		name: "a root that is reached through a link outside of all",
		world: world{
			tree:  []string{"data/proj/AGENTS.md = a", "link -> data", "data/proj/CLAUDE.md -> AGENTS.md", skill("data/proj/skills/one", "one"), "data/proj/x = x"},
			roots: []rootSpec{{"link/proj", "", true}},
		},
		asks: []ask{
			{"link/proj/AGENTS.md", why.ReasonFound, true, "instruction_file:data/proj/AGENTS.md", ""},
			{"link/proj/CLAUDE.md", why.ReasonCollapsedInto, true, "instruction_file:data/proj/AGENTS.md", ""},
			{"link/proj/skills/one/SKILL.md", why.ReasonFound, true, "skill:data/proj/skills/one", ""},
			{"link/proj/x", why.ReasonNotAKnownPlace, false, "", ""},
			{"link/proj", why.ReasonNotAKnownPlace, false, "", "a root"},
			{"link/other", why.ReasonOutsideRoots, false, "", ""},
		},
	}, {
		name:  "configured and not there",
		world: world{tree: []string{"proj/AGENTS.md = a"}, root: "proj", missing: []string{"later", "proj/extra"}},
		asks: []ask{
			{"later/AGENTS.md", why.ReasonMissing, false, "", "the configured root or source later doesn't exist"},
			{"later", why.ReasonMissing, false, "", "as soon as it does"},
			{"proj/extra/x.md", why.ReasonMissing, false, "", "proj/extra doesn't exist"},
			{"proj/AGENTS.md", why.ReasonFound, true, "instruction_file:proj/AGENTS.md", ""},
		},
	}, {
		name:  "names that are hard to spell",
		world: world{tree: []string{"bad\xff.md = x", "skills/new\nline/SKILL.md = x", "x#y/AGENTS.md = x", "tab\t.md = x", "link\xfe -> AGENTS.md", "AGENTS.md = a"}},
		asks: []ask{
			{"bad\xff.md", why.ReasonNotAKnownPlace, false, "", "not valid UTF-8"},
			{"none\xff.md", why.ReasonMissing, false, "", "no such file"},
			{"link\xfe", why.ReasonCollapsedInto, true, "instruction_file:AGENTS.md", ""},
			{"skills/new\nline", why.ReasonInvalid, false, "skill:skills/new\nline", "no front matter"},
			{"tab\t.md", why.ReasonNotAKnownPlace, false, "", ""},
			{"x#y/AGENTS.md", why.ReasonNested, false, "", `x#y/"'`},
		},
	}}
}

func otherQuestions() []questions {
	var deep string
	for i := range 40 {
		deep += fmt.Sprintf("d%d/", i)
	}
	long := strings.Repeat(strings.Repeat("é", 100)+"/", 15)
	return []questions{{
		name: "other tools",
		world: world{tree: []string{
			".cursor/rules/a.mdc = x", ".github/copilot-instructions.md = x", ".kiro/steering/s.md = x", "AGENTS.override.md = x",
			".claude/settings.json = {}", ".claude/agents/a.md = ---\nname: a\n---\n", ".claude/agents/README.md = x",
			"repo/.github/copilot-instructions.md = x", "repo/.kiro/steering/s.md = x", ".windsurf/rules/r.md = x",
			"home/.codex/prompts/a.md = x", ".cursor/rules/a.txt = x", "opencode.json = {}", ".claude/commands/git/commit.md = x", ".codex/AGENTS.md = x", "p/.cursor/rules/b.mdc = x",
		}},
		asks: []ask{
			{".cursor/rules/a.mdc", why.ReasonFound, true, "instruction_file:.cursor/rules/a.mdc", ""},
			{"p/.cursor/rules/b.mdc", why.ReasonNested, false, "", "Cursor reads it as rules"},
			{".cursor/rules", why.ReasonNotAKnownPlace, false, "", "1 resource below it is in the context"},
			{".cursor", why.ReasonNotAKnownPlace, false, "", "1 resource below it is in the context"},
			{".cursor/rules/a.txt", why.ReasonNotAKnownPlace, false, "", "rename it, if it is one"},
			{".github/copilot-instructions.md", why.ReasonFound, true, "instruction_file:.github/copilot-instructions.md", ""},
			{"repo/.github/copilot-instructions.md", why.ReasonNested, false, "", "'agent for repo/' lists it, with all else that applies to files there; a source would have it apply everywhere; GitHub Copilot reads it as instructions"},
			{"repo/.kiro/steering/s.md", why.ReasonNested, false, "", "when repo is the top of a project"},
			{"home/.codex/prompts/a.md", why.ReasonNotAKnownPlace, false, "", "Codex reads it as prompts, when home is a home directory"},
			{".kiro/steering/s.md", why.ReasonFound, true, "instruction_file:.kiro/steering/s.md", ""},
			{"AGENTS.override.md", why.ReasonFound, true, "instruction_file:AGENTS.override.md", ""},
			{".claude/settings.json", why.ReasonNotAKnownPlace, false, "", "Claude Code and VS Code read it as settings with hooks"},
			{".claude/agents/a.md", why.ReasonFound, true, "subagent:.claude/agents/a.md", ""},
			{".claude/agents/README.md", why.ReasonNotAKnownPlace, false, "", "looked at it and made no resource of it"}, // not the text of another file with the same
			{".claude/commands/git/commit.md", why.ReasonFound, true, "command:.claude/commands/git/commit.md", ""},
			{".windsurf/rules/r.md", why.ReasonFound, true, "instruction_file:.windsurf/rules/r.md", ""},
			{"opencode.json", why.ReasonFound, true, "mcp_config:opencode.json", "listed as an MCP configuration; its text stays on this machine"},
			{".codex/AGENTS.md", why.ReasonNested, false, "", "the user's instructions"},
		},
	}, {
		name: "a resolver that covers another tool's place",
		world: world{
			tree:    []string{"docs/AGENTS.override.md = x", "docs/.cursor/rules/a.mdc = x", "AGENTS.override.md = x"},
			plugins: []resolve.Resolver{{Config: []byte(`{"row": ["command|docs/AGENTS.override.md|docs/AGENTS.override.md"]}`)}},
		},
		asks: []ask{
			{"docs/AGENTS.override.md", why.ReasonFound, true, "command:docs/AGENTS.override.md", ""},
			{"docs/.cursor/rules/a.mdc", why.ReasonNested, false, "", "agent for docs/"},
			{"AGENTS.override.md", why.ReasonFound, true, "instruction_file:AGENTS.override.md", ""},
		},
	}, {
		name: "what a plugin makes of its places",
		world: world{
			tree:    []string{"Docs/x.md = x", "link/a.md = a", "link/b.md = b", "link/pipe |", "link/.mcp.json/x = y"},
			plugins: []resolve.Resolver{{Config: []byte(`{"row": ["command|docs/a.md|docs/a.md", "command|link/a.md|link/none.md", "command|link/pipe|||n|invalid"]}`)}},
		},
		asks: []ask{
			{"Docs/x.md", why.ReasonWrongCase, false, "", "looks for this name in another case: see its reads"},
			{"link/a.md", why.ReasonNotAKnownPlace, false, "", "dropin/rows looked at it and made no resource of it"},
			{"link/b.md", why.ReasonNotAKnownPlace, false, "", "dropin/rows may read it, but doesn't look here in this root"},
			{"link/pipe", why.ReasonInvalid, false, "command:link/pipe", "the resolver gives no reason"},
		},
	}, {
		name:  "deep",
		world: world{tree: []string{deep + "AGENTS.md = x", deep + ".cursor/rules/a.mdc = x", long + "AGENTS.md = x", "a b/AGENTS.md = x"}},
		asks: []ask{
			{long + "AGENTS.md", why.ReasonNested, false, "", "'agent for' with this directory"},
			{long + "agents.md", why.ReasonWrongCase, false, "", "…: ask for that"},
			{long + "AGENTS.mdx", why.ReasonMissing, false, "", ""},
			{"a b/AGENTS.md", why.ReasonNested, false, "", `a b/"'`},
			{deep + "AGENTS.md", why.ReasonNested, false, "", "agent for"},
			{deep + ".cursor/rules/a.mdc", why.ReasonNested, false, "", "Cursor"},
		},
	}}
}
