package clients_test

import (
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"waymark/abi"
	"waymark/test/testenv"
)

var kiloRunner = runner{
	id: "kilo", pkg: "@kilocode/cli-linux-x64", pinned: "npm-kilo", seeds: 4,
	command: func(t *testing.T, modules string, home user) []string {
		t.Helper()
		models := filepath.Join(home.dir, "models.json")
		put(t, models, "{}") // its own list of models takes seconds to read
		return []string{"env", "KILO_MODELS_PATH=" + models, filepath.Join(modules, "@kilocode/cli-linux-x64/bin/kilo"), "run", "--pure", "--title", "x", "hello"}
	},
	env: []string{
		"KILO_DISABLE_MODELS_FETCH=1", "KILO_DISABLE_AUTOUPDATE=1", "KILO_DISABLE_LSP_DOWNLOAD=1", "KILO_TELEMETRY_LEVEL=off",
		"KILO_DISABLE_CODEBASE_INDEXING=1", "KILO_DISABLE_SESSION_INGEST=1", "KILO_DISABLE_PRESENCE=1", "KILO_DISABLE_SHARE=1", "KILO_EXPERIMENTAL_DISABLE_FILEWATCHER=1",
		"KILO_DISABLE_DEFAULT_PLUGINS=1",
		`KILO_CONFIG_CONTENT={"model":"fake/m","snapshot":false,"provider":{"fake":{"npm":"@ai-sdk/openai-compatible","name":"fake","options":{"baseURL":"http://` + modelAt +
			`/v1","apiKey":"none"},"models":{"m":{"name":"m","limit":{"context":200000,"output":8000}}}}}}`,
	},
	read:     func(file string) toolCall { return toolCall{"read", map[string]string{"filePath": file}} },
	unsent:   []abi.Kind{abi.KindCommand},
	together: regexp.MustCompile(`^.*\.kilo(code)?/rules[^/]*/`), // in the order of the file system
	differs: map[string]string{
		"kilo: references in texts":     "Waymark doesn't follow {file:…}",
		"kilo: a mode that there isn't": wrongValue, "kilo: a subagent with a wrong value": wrongValue,
	},
	trees:  kiloTrees,
	random: randomKilo,
}

const wrongValue = "Waymark checks no other values of a subagent than its name, description and mode"

var kiloNames = []string{"AGENTS.md", "CLAUDE.md", "CONTEXT.md", "AGENTS.override.md", "CLAUDE.local.md", ".claude/CLAUDE.md", ".kilo/AGENTS.md", ".kilocode/AGENTS.md", "agents.md", "QWEN.md"}

var kiloHome = []string{".config/kilo/AGENTS.md", ".config/kilo/CLAUDE.md", ".config/opencode/AGENTS.md", ".claude/CLAUDE.md", ".kilo/AGENTS.md", ".kilo/rules/u.md", ".kilocode/rules/v.md", ".kilocode/rules/u.md", ".kilo/rules-code/w.md", ".kilocoderules", "AGENTS.md"}

var kiloRuleNames = []string{
	".kilo/rules/a.md", ".kilo/rules/b.md", ".kilocode/rules/a.md", ".kilocode/rules/c.md", ".kilo/rules/sub/d.md", ".kilo/rules/e.txt", ".kilocoderules", ".kilocoderules-code", ".kilocoderules-ask",
	".kilo/rules-code/a.md", ".kilocode/rules-code/a.md", ".kilocode/rules-code/f.md", ".kilo/rules-architect/g.md", ".kilocode/rules-debug/h.md", ".kilo/rules-orchestrator/i.md", ".kilo/rules-other/j.md", ".kilocoderules-debug",
}

var kiloSkillDirs = []string{".agents/skills", ".claude/skills", ".kilo/skills", ".kilo/skill", ".kilocode/skills", ".kilocode/skill", ".opencode/skills"}

var kiloHomeSkillDirs = []string{".agents/skills", ".claude/skills", ".kilo/skills", ".kilo/skill", ".kilocode/skills", ".config/kilo/skills", ".config/kilo/skill", ".config/opencode/skills"}

var kiloAgentDirs = []string{".kilo/agent", ".kilo/agents", ".kilocode/agent", ".kilocode/agents", ".opencode/agent", ".claude/agents", ".kilo/mode", ".kilo/modes"}

var kiloHomeAgentDirs = []string{".config/kilo/agent", ".config/kilo/agents", ".kilo/agent", ".kilo/agents", ".kilocode/agents", ".config/opencode/agent"}

// agentHead is a subagent with a mark in its description.
func agentHead(more string) string {
	return "---\ndescription: Does $ well.\n" + more + "---\nPrompt.\n"
}

func agentsAt(dirs ...string) map[string]string {
	files := map[string]string{}
	for i, dir := range dirs {
		files[path.Join(dir, "n"+string(rune('a'+i))+".md")] = agentHead("")
	}
	return files
}

// sameAt is one skill at each of several places.
func sameAt(name string, dirs ...string) map[string]string {
	files := map[string]string{}
	for _, dir := range dirs {
		files[path.Join(dir, name, "SKILL.md")] = named(name)
	}
	return files
}

var kiloTrees = []tree{
	{name: "kilo: all names", files: textsAt(kiloNames...)},
	{name: "kilo: CLAUDE.md and CONTEXT.md", start: "sub", files: textsAt("CLAUDE.md", "sub/CONTEXT.md")},
	{name: "kilo: CONTEXT.md", start: "sub", files: textsAt("CONTEXT.md", "sub/CONTEXT.md")},
	{name: "kilo: one name for all directories", start: "sub/deep", files: textsAt("CLAUDE.md", "sub/AGENTS.md", "sub/deep/CLAUDE.md", "../AGENTS.md")},
	{name: "kilo: no git", start: "sub/deep", noGit: true, files: textsAt("AGENTS.md", "sub/AGENTS.md", "sub/deep/AGENTS.md", "../AGENTS.md")},
	{name: "kilo: no git, above alone", start: "sub", noGit: true, files: textsAt("AGENTS.md", "sub/CLAUDE.md")},
	{name: "kilo: blank texts", start: "sub", files: map[string]string{"AGENTS.md": "", "sub/AGENTS.md": " \n", "CLAUDE.md": "$\n"}},
	{name: "kilo: the user's texts", home: textsAt(kiloHome...), files: textsAt("AGENTS.md")},
	{name: "kilo: the user's CLAUDE.md", home: textsAt(".claude/CLAUDE.md"), files: textsAt("CLAUDE.md")},
	{name: "kilo: blank texts of the user", home: map[string]string{".config/kilo/AGENTS.md": "", ".claude/CLAUDE.md": "$\n"}, files: textsAt("AGENTS.md")},
	{name: "kilo: rules", files: textsAt(kiloRuleNames...)},
	{name: "kilo: rules below", start: "sub", files: joined(textsAt(kiloRuleNames...), under("sub", textsAt(".kilo/rules/z.md", ".kilocoderules")))},
	{name: "kilo: rules and texts", home: textsAt(".kilo/rules/u.md", ".kilocode/rules/u.md", ".kilocode/rules/a.md"), files: joined(textsAt("AGENTS.md"), textsAt(kiloRuleNames...))},
	{name: "kilo: rules over links", files: map[string]string{".kilo/rules/in.md": "-> ../../docs/in.md", "docs/in.md": "$\n", ".kilo/rules/out.md": "-> ../../../out.md", "../out.md": "$\n", ".kilocode/rules": "-> ../docs3", "docs3/x.md": "$\n", ".kilocoderules": "-> docs/in2.md", "docs/in2.md": "$\n", ".kilo/rules-code": "-> ../../outdir", "../outdir/x.md": "$\n"}},
	{name: "kilo: rules with front matter", files: map[string]string{".kilo/rules/a.md": "---\npaths: src/**\n---\n$\n", ".kilo/rules/b.md": "", ".kilo/rules/c.MD": "$\n", ".kilocoderules/x.md": "$\n"}},
	{name: "kilo: home above", start: "sub", inHome: true, home: textsAt(kiloHome...), files: textsAt("CLAUDE.md")},
	{name: "kilo: home above, no git", start: "sub", inHome: true, noGit: true, home: joined(textsAt(kiloHome...), sameAt("one", kiloHomeSkillDirs...), agentsAt(kiloHomeAgentDirs...)), files: textsAt("README.md")},
	{name: "kilo: skills", files: skillsAt(kiloSkillDirs...)},
	{name: "kilo: the user's skills", home: skillsAt(kiloHomeSkillDirs...), files: textsAt("README.md")},
	{name: "kilo: skills above", start: "sub/deep", files: joined(skillsAt(kiloSkillDirs...), under("..", renamed(skillsAt(kiloSkillDirs...))))},
	{name: "kilo: skills above, no git", start: "sub/deep", noGit: true, files: joined(skillsAt(kiloSkillDirs...), under("..", renamed(skillsAt(kiloSkillDirs...))))},
	{name: "kilo: equal names, .claude and .agents", files: sameAt("one", ".claude/skills", ".agents/skills")},
	{name: "kilo: equal names, .agents and .kilocode", files: sameAt("one", ".agents/skills", ".kilocode/skills")},
	{name: "kilo: equal names, .kilocode and .kilo", files: sameAt("one", ".kilocode/skills", ".kilo/skills")},
	{name: "kilo: equal names below", start: "sub", files: joined(sameAt("one", ".kilo/skills", "sub/.kilo/skills"), sameAt("two", ".agents/skills", "sub/.agents/skills"), sameAt("three", ".agents/skills", "sub/.claude/skills"))},
	{name: "kilo: equal names of the user", home: joined(sameAt("one", ".kilo/skills"), sameAt("two", ".config/kilo/skills"), sameAt("three", ".agents/skills"), sameAt("four", ".config/kilo/skills", ".kilo/skills")), files: joined(sameAt("one", ".kilo/skills"), sameAt("two", ".kilo/skills"), sameAt("three", ".agents/skills"))},
	{name: "kilo: a skill without a description keeps its name", files: map[string]string{".agents/skills/a/SKILL.md": named("one"), ".kilo/skills/b/SKILL.md": "---\nname: one\n---\nx\n", ".agents/skills/c/SKILL.md": named("two"), ".kilo/skills/d/SKILL.md": "---\nname: two\ndescription: 3\n---\nx\n"}},
	{name: "kilo: skills deep and hidden", files: map[string]string{".agents/skills/g/h/a/SKILL.md": named("a"), ".agents/skills/.x/b/SKILL.md": named("b"), ".kilo/skills/g/c/SKILL.md": named("c"), ".kilo/skills/.x/d/SKILL.md": named("d"), ".kilo/skills/SKILL.md": named("e"), ".agents/skills/SKILL.md": named("f"), ".agents/skills/a/SKILL.md": named("g"), ".agents/skills/a/b/SKILL.md": named("h"), ".agents/skills/node_modules/i/SKILL.md": named("i"), ".kilo/skills/file.md": named("j")}},
	{name: "kilo: skills over links", files: map[string]string{"shared/one/SKILL.md": named("one"), ".agents/skills/lk": "-> ../../shared/one", ".kilo/skills/out": "-> ../../../out/two", "../out/two/SKILL.md": named("two"), ".claude/skills/f/SKILL.md": "-> ../../../docs/three.md", "docs/three.md": named("three"), ".agents/skills/g/SKILL.md": "-> ../../../../out/four.md", "../out/four.md": named("four"), ".kilocode": "-> ../outk", "../outk/skills/five/SKILL.md": named("five")}},
	{name: "kilo: front matter", files: oddMarked(".agents/skills")},
	{name: "kilo: front matter of its own", files: oddMarked(".kilo/skills")},
	{name: "kilo: subagents", files: agentsAt(kiloAgentDirs...), home: joined(under(".config/kilo", map[string]string{"agent/u1.md": agentHead(""), "agents/u2.md": agentHead("")}), map[string]string{".kilo/agent/u3.md": agentHead(""), ".kilocode/agents/u4.md": agentHead("")})},
	{name: "kilo: subagents above", start: "sub", files: joined(agentsAt(kiloAgentDirs...), under("..", map[string]string{".kilo/agent/above.md": agentHead("")}), under("sub", map[string]string{".kilo/agent/here.md": agentHead("")}))},
	{name: "kilo: subagents above, no git", start: "sub", noGit: true, files: joined(agentsAt(kiloAgentDirs...), under("..", map[string]string{".kilo/agent/above.md": agentHead("")}), under("sub", map[string]string{".kilo/agent/here.md": agentHead("")}))},
	{name: "kilo: kinds of subagents", files: map[string]string{".kilo/agent/a.md": agentHead("mode: subagent\n"), ".kilo/agent/b.md": agentHead("mode: primary\n"), ".kilo/agent/c.md": agentHead("mode: all\n"), ".kilo/agent/e.md": agentHead("name: renamed\n"), ".kilo/agent/g.md": agentHead("hidden: true\n"), ".kilo/agent/h/i.md": agentHead(""), ".kilo/agent/j.md": "No front matter $.\n", ".kilo/agent/k.md": "---\ndescription: a: $\n---\n", ".kilo/agent/.o.md": agentHead(""), ".kilo/agent/p.txt": agentHead(""), ".kilo/agent/q.md": agentHead("unknown: x\n")}},
	{name: "kilo: a subagent that is switched off", files: map[string]string{".kilo/agent/f.md": agentHead("disable: true\n"), ".kilo/agent/a.md": agentHead("")}},
	{name: "kilo: a subagent of Kilo's", files: map[string]string{".kilo/agent/general.md": agentHead(""), ".kilo/agent/code.md": agentHead("")}},
	{name: "kilo: a mode that there isn't", files: map[string]string{".kilo/agent/d.md": agentHead("mode: other\n"), ".kilo/agent/a.md": agentHead("")}},
	{name: "kilo: a subagent with a list", files: map[string]string{".kilo/agent/l.md": "---\ndescription: [$\n---\n", ".kilo/agent/a.md": agentHead("")}},
	{name: "kilo: a subagent with a wrong value", files: map[string]string{".kilo/agent/n.md": agentHead("temperature: x\n"), ".kilo/agent/a.md": agentHead("")}},
	{name: "kilo: subagents that add up", files: map[string]string{".kilocode/agent/a.md": agentHead("mode: primary\n"), ".kilo/agent/a.md": "---\nmode: subagent\n---\nx\n", ".kilocode/agent/b.md": agentHead(""), ".kilo/mode/b.md": "x\n", ".kilo/mode/c.md": agentHead("mode: all\n"), ".kilocode/mode/d.md": agentHead(""), ".kilo/agent/d.md": "---\nmode: all\n---\nx\n"}},
	{name: "kilo: subagents of one name", start: "sub", files: joined(map[string]string{".kilo/agent/one.md": agentHead(""), ".kilocode/agent/one.md": agentHead(""), "sub/.kilo/agent/two.md": agentHead(""), ".kilo/agent/two.md": agentHead(""), "sub/.kilo/agents/three.md": agentHead(""), "sub/.kilo/agent/x.md": agentHead("name: three\n")}), home: map[string]string{".config/kilo/agent/four.md": agentHead(""), ".kilo/agent/four.md": agentHead(""), ".kilo/agent/one.md": agentHead("")}},
	{name: "kilo: modes of before", files: map[string]string{".kilocodemodes": "customModes:\n  - slug: mine\n    name: Mine\n    roleDefinition: Role $.\n    groups: [read]\n", ".kilo/workflows/w.md": "# W\n$\n"}},
	{name: "kilo: another configuration directory", variables: map[string]string{"XDG_CONFIG_HOME": "elsewhere"}, files: textsAt("AGENTS.md"), home: joined(textsAt("elsewhere/kilo/AGENTS.md", ".config/kilo/AGENTS.md"), sameAt("a", "elsewhere/kilo/skills"), sameAt("b", ".config/kilo/skills"), map[string]string{"elsewhere/kilo/agent/c.md": agentHead("")})},
	{name: "kilo: reads a file", reads: "sub/deep/x.txt", files: joined(textsAt("AGENTS.md"), under("sub", textsAt(kiloNames...)), under("sub/deep", textsAt("CLAUDE.md", "CONTEXT.md")), map[string]string{"sub/deep/x.txt": "x", "sub/.agents/skills/a/SKILL.md": named("a"), "sub/.kilo/rules/b.md": "$\n", "sub/.kilo/agent/c.md": agentHead("")})},
	{name: "kilo: reads a file of the start", reads: "x.txt", files: joined(textsAt("CLAUDE.md", "AGENTS.md"), map[string]string{"x.txt": "x"})},
	{name: "kilo: many skills", files: numberedMarked(120)},
	{name: "kilo: references in texts", files: map[string]string{"AGENTS.md": "a $1 {file:docs/a.md} b $2\n", "docs/a.md": "$\n"}},
	{name: "kilo: references to nothing", files: map[string]string{"AGENTS.md": "a $1 {file:docs/none.md} b $2\n", "sub/x": "x"}},
}

// oneOf are every other of the directories, so that no two belong to one place.
func oneOf(first int, dirs []string) (some []string) {
	for i := first; i < len(dirs); i += 2 {
		some = append(some, dirs[i])
	}
	return some
}

// randomKilo makes a tree of the places of Kilo.
func randomKilo(seed uint64) *tree {
	r := testenv.RandOf(seed, 40)
	tr := &tree{start: pick(r, "", "sub", "sub/deep"), noGit: r.IntN(4) == 0, inHome: r.IntN(5) == 0, files: map[string]string{}, home: map[string]string{}}
	text := func(string) string {
		return pick(r, "Rule $.\n", "Rule $.\n", "Rule $.\n", "", " \n", "---\na: b\n---\n$\n", "<!-- $1 --> $2\n", "\ufeff$\n", "$\r\n")
	}
	names := 0
	used := map[string]bool{} // names in one place, of which any can count
	skill := func(dir string) string {
		names++
		name := pick(r, "one", "two", "three")
		if key := path.Dir(dir) + " " + name; used[key] || r.IntN(3) == 0 {
			name = "n" + string(rune('a'+names%26)) + string(rune('a'+names/26))
		} else {
			used[key] = true
		}
		return pick(r, named(name), named(name), named(name), named(name), "---\ndescription: $\n---\n", "---\nname: "+name+"\n---\n$\n", "---\nname: "+name+"\ndescription: a: $\n---\n", "$\n")
	}
	agent := func(string) string {
		return pick(r, agentHead(""), agentHead("mode: subagent\n"), agentHead("mode: primary\n"), agentHead("mode: all\n"), "---\nmode: subagent\n---\n$\n")
	}
	place := func(files map[string]string, name, text string) {
		for other := range files {
			if other == name || strings.HasPrefix(name, other+"/") || strings.HasPrefix(other, name+"/") {
				return
			}
		}
		files[name] = text
	}
	some := func(files map[string]string, most int, dir string, dirs []string, made func(dir string) string, names ...string) {
		for range r.IntN(most + 1) {
			below := path.Join(dir, pick(r, dirs...))
			place(files, path.Join(below, pick(r, names...)), made(below))
		}
	}
	dirs := []string{"", "sub", "sub/deep"}
	if !tr.inHome { // that is the home directory itself
		dirs = append(dirs, "..")
	}
	for _, dir := range dirs {
		some(tr.files, 2, dir, kiloNames[:3], text, "")
		some(tr.files, 1, dir, kiloNames, text, "")
		some(tr.files, 3, dir, kiloRuleNames, text, "")
		some(tr.files, 3, dir, kiloSkillDirs, skill, "one/SKILL.md", "two/SKILL.md", "Three/SKILL.md", ".four/SKILL.md", "g/five/SKILL.md")
		some(tr.files, 2, dir, oneOf(r.IntN(2), kiloAgentDirs), agent, "x.md", "y.md", "z.md", "w.md")
	}
	if r.IntN(2) == 0 {
		some(tr.home, 4, "", kiloHome, text, "")
		some(tr.home, 4, "", kiloHomeSkillDirs, skill, "one/SKILL.md", "two/SKILL.md", "uu/SKILL.md")
		some(tr.home, 3, "", oneOf(r.IntN(2), kiloHomeAgentDirs), agent, "x.md", "y.md", "u.md")
	}
	if r.IntN(5) == 0 {
		place(tr.files, "shared/sk/SKILL.md", skill("shared"))
		place(tr.files, path.Join(pick(r, kiloSkillDirs...), "lk"), "-> ../../shared/sk")
	}
	if r.IntN(5) == 0 {
		place(tr.files, "sub/AGENTS.md", "-> ../CLAUDE.md")
	}
	return tr
}
