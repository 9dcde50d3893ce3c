package clients_test

import (
	"path/filepath"
	"strings"
	"testing"

	"waymark/abi"
	"waymark/test/testenv"
)

// clineRunner lists skills by their names alone, so that trees have marks in names. It doesn't
// tell its model of workflows. Without the local mode it leaves a process behind that outlives
// the test.
var clineRunner = runner{
	id: "cline", pkg: "@cline/cli-linux-x64", pinned: "npm-cline", seeds: 10,
	command: func(t *testing.T, modules string, home user) []string {
		t.Helper()
		settings := filepath.Join(home.dir, "cline-settings.json")
		put(t, settings, `{"version":1,"lastUsedProvider":"openai-compatible","modes":{},"providers":{"openai-compatible":{"settings":{"provider":"openai-compatible","apiKey":"none","model":"m",
			"baseUrl":"http://`+modelAt+`/v1"},"updatedAt":"2026-11-28T00:00:00.000Z","tokenSource":"manual"}}}`)
		return []string{"env", "CLINE_PROVIDER_SETTINGS_PATH=" + settings, filepath.Join(modules, "@cline/cli-linux-x64/bin/cline"), "-P", "openai-compatible", "-m", "m", "-k", "none", "hello there"}
	},
	env: []string{"CLINE_SESSION_BACKEND_MODE=local", "CLINE_NO_AUTO_UPDATE=1", "CLINE_LOG_ENABLED=0"},
	read: func(file string) toolCall {
		return toolCall{"read_files", map[string]any{"files": []map[string]string{{"path": file}}}}
	},
	unsent:    []abi.Kind{abi.KindCommand},
	unordered: []abi.Kind{abi.KindSkill}, // in the order of the file system
	trees:     clineTrees,
	random:    randomClineTree,
	differs: map[string]string{
		"managed directories": "what a company manages in .cline/NAME isn't looked for",
		"a broken .git":       "it asks git for the top, and git doesn't take that one for a repository",
		"random 9/9":          "of two rules with one name in one directory it takes the one that the file system lists last",
	},
}

// clineSkill has its mark in its name.
func clineSkill(name string) string { return head(name+"-$", "About it.") }

func clineSkillsAt(dirs ...string) map[string]string {
	files := map[string]string{}
	for p, text := range skillsAt(dirs...) {
		files[p] = strings.Replace(strings.ReplaceAll(text, "$", "it"), "\ndescription", "-$\ndescription", 1)
	}
	return files
}

const clineAgent = "---\nname: n-$1\ndescription: About $2.\n---\nDo $3.\n"

// clineTrees are workspaces with what Cline alone reads.
var clineTrees = []tree{
	{name: "places of rules", files: textsAt("AGENTS.md", ".clinerules/a.md", ".clinerules/b.txt", ".clinerules/c.markdown", ".clinerules/d.MD", ".clinerules/e.mdc", ".clinerules/f", ".clinerules/.g.md", ".clinerules/sub/h.md", ".clinerules/AGENTS.md", ".cline/rules/i.md", ".cline/rules/sub/j.md",
		".cline/rules/AGENTS.md", ".cline/k.md", ".clinerules/workflows/l.md", ".cline/workflows/m.md", ".clinerules/hooks/n.md", ".cline/AGENTS.md")},
	{name: "rules in one file", files: textsAt(".clinerules", "AGENTS.md")},
	{name: "rules in one file, started below", start: "sub", files: textsAt(".clinerules", "AGENTS.md", "sub/.clinerules")},
	{name: "rules of the start", start: "sub", files: textsAt("AGENTS.md", ".clinerules/a.md", ".cline/rules/b.md", "sub/AGENTS.md", "sub/.clinerules/c.md", "sub/.cline/rules/d.md", "sub/deep/AGENTS.md", "sub/deep/.clinerules/e.md")},
	{name: "heads of rules", files: map[string]string{
		".clinerules/named.md": "---\nname: zz $1\n---\n$2\n", ".clinerules/off.md": "---\ndisabled: true\n---\n$\n", ".clinerules/on.md": "---\ndisabled: false\n---\n$\n", ".clinerules/unable.md": "---\nenabled: false\n---\n$\n", ".clinerules/both.md": "---\nenabled: false\ndisabled: false\n---\n$\n",
		".clinerules/text.md": "---\ndisabled: \"true\"\n---\n$\n", ".clinerules/enabled.md": "---\nenabled: \"no\"\n---\n$\n", ".clinerules/paths.md": "---\npaths:\n  - src/**\n---\n$\n", ".clinerules/globs.md": "---\nglobs: x\nalwaysApply: false\ndescription: d\n---\n$\n", ".clinerules/number.md": "---\nname: 12\n---\n$\n",
		".clinerules/broken.md": "---\nname: [ a\n---\n$\n", ".clinerules/colon.md": "---\ndescription: a: b\n---\n$\n", ".clinerules/list.md": "---\n- a\n---\n$\n", ".clinerules/empty.md": "---\n---\n$\n", ".clinerules/open.md": "---\nname: open $1\n\n$2\n", ".clinerules/bom.md": "\ufeff---\nname: b $1\n---\n$2\n",
		".clinerules/crlf.md": "---\r\nname: c $1\r\n---\r\n$2\r\n", ".clinerules/only.md": "---\nname: $\n---\n", ".clinerules/blank.md": " \n", ".clinerules/noname.md": "---\nname: \"\"\n---\n$\n", ".clinerules/later.md": "Before.\n---\ndisabled: true\n---\n$\n", ".clinerules/blanks.md": "---  \ndisabled: true\n---  \n$\n",
		".clinerules/tail.md": "---\ndisabled: true\n---tail $\n", ".clinerules/comment.md": "---\n# x\n---\n$\n", ".clinerules/dup.md": "---\nname: a\nname: b\n---\n$\n", ".clinerules/null.md": "---\nname:\ndisabled:\n---\n$\n", ".clinerules/map.md": "---\nname: {a: b}\n---\n$\n",
	}},
	{name: "names of rules", files: textsAt(".clinerules/b.md", ".clinerules/A.md", ".clinerules/_c.md", ".clinerules/10.md", ".clinerules/9.md", ".clinerules/é.md", ".clinerules/z.md", ".clinerules/a-b.md", ".clinerules/ab.md", ".clinerules/a b.md", ".clinerules/a.b.md", "AGENTS.md", ".cline/rules/y.md", ".cline/rules/B2.md"),
		home: textsAt(".cline/rules/c.md", "Cline/Rules/x.md", "Documents/Cline/Rules/w.md", ".agents/AGENTS.md")},
	{name: "equal names of rules", files: textsAt(".clinerules/a.md", ".cline/rules/a.md", ".clinerules/c.md", ".cline/rules/A.txt", ".clinerules/d.md"), home: textsAt(".cline/rules/a.md", ".cline/rules/c.md", "Cline/Rules/d.md", "Documents/Cline/Rules/d.md")},
	{name: "equal names in heads", files: map[string]string{".clinerules/a.md": "---\nname: same\n---\n$\n", ".cline/rules/b.md": "---\nname: Same\n---\n$\n", ".cline/rules/c.md": "---\nname: Workspace AGENTS.md\n---\n$\n", "AGENTS.md": "$\n", ".cline/rules/zz.md": "$\n", ".clinerules/y.md": "---\nname: zz\n---\n$\n"}},
	{name: "AGENTS.md in several places", files: textsAt("AGENTS.md", ".clinerules/AGENTS.md", ".cline/rules/AGENTS.md"), home: textsAt(".agents/AGENTS.md", ".cline/rules/AGENTS.md", "Cline/Rules/AGENTS.md")},
	{name: "a head of AGENTS.md", files: map[string]string{"AGENTS.md": "---\nname: $1\n---\n$2\n"}},
	{name: "a disabled AGENTS.md", files: map[string]string{"AGENTS.md": "---\ndisabled: true\n---\n$\n", ".clinerules/a.md": "$\n"}},
	{name: "a broken AGENTS.md", files: map[string]string{"AGENTS.md": "---\na: b: c\n---\n$\n", ".clinerules/a.md": "$\n"}},
	{name: "rules of the user", home: textsAt(".cline/rules/a.md", ".cline/rules/sub/b.md", "Cline/Rules/c.md", "Documents/Cline/Rules/d.md", "Documents/Cline/Rules/sub/e.md", ".agents/AGENTS.md", ".agents/rules/f.md", ".clinerules/g.md", ".cline/AGENTS.md", "Cline/AGENTS.md", ".cline/rules/h.txt", "Documents/Cline/i.md"), files: textsAt("README.md")},
	{name: "rules of the user elsewhere", variables: map[string]string{"CLINE_DIR": "else/c"}, home: joined(textsAt("else/c/rules/a.md", ".cline/rules/b.md", "Cline/Rules/c.md"), clineSkillsAt(".cline/skills"), under("else/c", map[string]string{"skills/m/SKILL.md": clineSkill("m"), "agents/a.yaml": clineAgent})), files: textsAt(".cline/rules/d.md")},
	{name: "rules that are links", files: map[string]string{
		".clinerules/in.md": "-> ../docs/in.md", "docs/in.md": "$\n", ".clinerules/out.md": "-> ../../out.md", "../out.md": "$\n", "AGENTS.md": "-> docs/agents.md", "docs/agents.md": "$\n", ".cline/rules/AGENTS.md": "-> ../../docs/in.md", ".cline/rules/x.md": "$\n", ".clinerules/dir": "-> ../docs",
	}},
	{name: "AGENTS.md over a link in rules", files: map[string]string{".clinerules/AGENTS.md": "-> ../docs/in.md", "docs/in.md": "$\n"}},
	{name: "the rules are a link", files: map[string]string{".clinerules": "-> docs/rules", "docs/rules/a.md": "$\n", ".cline/rules": "-> ../docs/rules", "docs/rules/b.txt": "$\n"}},
	{name: "a file of rules over a link", files: map[string]string{".clinerules": "-> docs/rules.md", "docs/rules.md": "$\n"}},
	{name: "all is a link", files: map[string]string{".cline": "-> ../outc", "../outc/rules/a.md": "$\n", "../outc/skills/one/SKILL.md": clineSkill("one"), "../outc/agents/a.yaml": clineAgent}},
	{name: "skills in all places", files: clineSkillsAt(containers...), home: clineSkillsAt(homeContainers...)},
	{name: "skills of the top", start: "sub", files: joined(clineSkillsAt(containers...), under("sub", clineSkillsAt(containers...)))},
	{name: "skills of the top without git", start: "sub", noGit: true, files: joined(clineSkillsAt(containers...), under("sub", clineSkillsAt(containers...)))},
	{name: "names of skills", files: map[string]string{
		".cline/skills/noname/SKILL.md": "---\ndescription: d\n---\nbody\n", ".cline/skills/nohead/SKILL.md": "Body.\n", ".cline/skills/number/SKILL.md": "---\nname: 12\ndescription: $\n---\nbody\n", ".cline/skills/nobody/SKILL.md": head("nobody-$", "d")[:len("---\nname: nobody-$\ndescription: d\n---\n")],
		".cline/skills/off/SKILL.md": "---\nname: off-$\ndisabled: true\n---\nbody\n", ".cline/skills/unable/SKILL.md": "---\nname: unable-$\nenabled: false\n---\nbody\n", ".cline/skills/nodesc/SKILL.md": "---\nname: nodesc-$\n---\nbody\n", ".cline/skills/desclist/SKILL.md": "---\nname: desclist-$\ndescription: [a]\n---\nbody\n",
		".cline/skills/descnum/SKILL.md": "---\nname: descnum-$\ndescription: 12\n---\nbody\n", ".cline/skills/colon/SKILL.md": "---\nname: colon-$\ndescription: a: b\n---\nbody\n", ".cline/skills/blanks/SKILL.md": "---\nname: \"  has blanks $ \"\n---\nbody\n", ".cline/skills/manual/SKILL.md": "---\nname: manual-$\ndisable-model-invocation: true\n---\nbody\n",
		".cline/skills/colons/SKILL.md": "---\nname: \"a:b:$\"\n---\nbody\n", ".cline/skills/bom/SKILL.md": "\ufeff" + clineSkill("bom"), ".cline/skills/crlf/SKILL.md": strings.ReplaceAll(clineSkill("crlf"), "\n", "\r\n"), ".cline/skills/open/SKILL.md": "---\nname: open-$\nbody\n", ".cline/skills/date/SKILL.md": "---\nname: 2024-01-01\ndescription: $\n---\nbody\n",
		".cline/skills/UP/SKILL.md": clineSkill("UP"), ".cline/skills/lower/skill.md": clineSkill("lower"), ".cline/skills/.hid/SKILL.md": clineSkill("hid"), ".cline/skills/g/deep/SKILL.md": clineSkill("deep"), ".cline/skills/SKILL.md": clineSkill("top"), ".cline/skills/flat.md": clineSkill("flat"), ".cline/skills/null/SKILL.md": "---\nname:\ndescription: $\n---\nbody\n",
		".cline/skills/offtext/SKILL.md": "---\nname: offtext-$\ndisabled: \"yes\"\n---\nbody\n", ".cline/skills/long/SKILL.md": clineSkill(strings.Repeat("long-", 30)),
	}},
	{name: "skills of Cline that are links", files: map[string]string{
		".cline/skills/dir": "-> ../../shared/dir", "shared/dir/SKILL.md": clineSkill("dir"), ".cline/skills/file/SKILL.md": "-> ../../../shared/file.md", "shared/file.md": clineSkill("file"), ".agents/skills/out": "-> ../../../out", "../out/SKILL.md": clineSkill("out"), ".clinerules/skills/gone/SKILL.md": "-> nowhere", ".agents/skills/SKILL.md": "-> ../../shared/file2.md", "shared/file2.md": clineSkill("file2"),
	}},
	{name: "the skills are a link", files: map[string]string{".cline/skills": "-> ../shared", "shared/one/SKILL.md": clineSkill("one"), ".agents/skills": "-> ../shared"}},
	{name: "subagents of Cline", files: map[string]string{
		".cline/agents/a.yaml": clineAgent, ".cline/agents/b.yml": clineAgent, ".cline/agents/c.YAML": clineAgent, ".cline/agents/d.md": clineAgent, ".cline/agents/sub/e.yaml": clineAgent, ".cline/agents/nobody.yaml": "---\nname: nb-$1\ndescription: $2\n---\n", ".cline/agents/noname.yaml": "---\ndescription: $\n---\nDo.\n", ".cline/agents/nodesc.yaml": "---\nname: nd-$\n---\nDo.\n",
		".cline/agents/plain.yaml": "name: p-$1\ndescription: $2\n", ".cline/agents/num.yaml": "---\nname: 12\ndescription: $\n---\nDo.\n", ".cline/agents/bom.yaml": "\ufeff" + clineAgent, ".cline/agents/crlf.yaml": strings.ReplaceAll(clineAgent, "\n", "\r\n"), ".cline/agents/tools.yaml": "---\nname: t-$1\ndescription: $2\ntools: [read_files]\nskills: a, b\n---\nDo.\n",
		".cline/agents/oddtools.yaml": "---\nname: o-$1\ndescription: $2\ntools: {a: b}\n---\nDo.\n", ".cline/agents/iter.yaml": "---\nname: i-$1\ndescription: $2\nmaxIterations: 0\n---\nDo.\n", ".cline/agents/rule.yaml": "---\nname: r-$1\ndescription: $2\n---\nDo.\n---\nMore.\n", ".cline/agents/lk.yaml": "-> ../../docs/lk.yaml", "docs/lk.yaml": clineAgent,
		".cline/agents/blanks.yaml": "---  \nname: bl-$1\ndescription: $2\n---\t\nDo.\n", ".cline/agents/colon.yaml": "---\nname: co-$1\ndescription: a: $2\n---\nDo.\n",
	}, home: map[string]string{".cline/agents/u.yaml": clineAgent, "Documents/Cline/Agents/v.yaml": clineAgent, ".cline/agents/num.yaml": "---\nname: um-$1\ndescription: $2\nmaxIterations: 3\n---\nDo.\n"}},
	{name: "equal names of subagents", files: map[string]string{".cline/agents/a.yaml": "---\nname: Same\ndescription: $\n---\nDo.\n"}, home: map[string]string{".cline/agents/u.yaml": "---\nname: same\ndescription: $\n---\nDo.\n", ".cline/agents/b.yaml": "---\nname: aaa\ndescription: $\n---\nDo.\n"}},
	{name: "subagents of the top", start: "sub", files: map[string]string{".cline/agents/a.yaml": clineAgent, "sub/.cline/agents/b.yaml": clineAgent}},
	{name: "managed directories", start: "sub", files: map[string]string{
		"sub/.cline/corp/managed.json": "{}", "sub/.cline/corp/rules.md": "$\n", "sub/.cline/corp/skills/one/SKILL.md": clineSkill("one"), "sub/.cline/none/rules.md": "$\n", ".cline/top/managed.json": "{}", ".cline/top/rules.md": "$\n", ".cline/top/skills/two/SKILL.md": clineSkill("two"), ".cline/bad/managed.json": "{", ".cline/bad/skills/no/SKILL.md": clineSkill("no"),
	}},
	{name: "the start is the home", start: "..", inHome: true, noGit: true, home: joined(textsAt("AGENTS.md", ".cline/rules/a.md", ".agents/AGENTS.md", ".clinerules/b.md", "Cline/Rules/c.md"), clineSkillsAt(".cline/skills", ".agents/skills"), map[string]string{".cline/agents/a.yaml": clineAgent})},
	{name: "the home is above", inHome: true, home: joined(textsAt("AGENTS.md", ".cline/rules/a.md", ".agents/AGENTS.md"), clineSkillsAt(".cline/skills", ".agents/skills")), files: joined(textsAt("AGENTS.md", ".clinerules/b.md"), map[string]string{".cline/skills/p/SKILL.md": clineSkill("p")})},
	{name: "a broken .git", start: "sub", noGit: true, files: joined(textsAt("AGENTS.md", "sub/AGENTS.md"), map[string]string{".git": "gitdir: /nowhere/.git/worktrees/x\n", ".cline/skills/top/SKILL.md": clineSkill("top"), "sub/.cline/skills/here/SKILL.md": clineSkill("here")})},
	{name: "a file is read", reads: "sub/x.ts", files: joined(textsAt("AGENTS.md", "sub/AGENTS.md", "sub/.clinerules/a.md", "sub/.cline/rules/b.md", "sub/CLAUDE.md"), map[string]string{"sub/x.ts": "x\n", ".clinerules/g.md": "---\npaths: \"**/*.ts\"\n---\n$\n", "sub/.cline/skills/one/SKILL.md": clineSkill("one")})},
	{name: "plugins of agents", home: map[string]string{".agents/plugins/p/plugin.json": `{"$schema": "https://agent-plugins.org/schema/plugin.json", "name": "p", "version": "1.0.0"}`, ".agents/plugins/p/skills/one-skill/SKILL.md": head("one-skill", "$"), ".agents/plugins/p/rules/a.md": "$\n"}, files: textsAt("README.md")},
}

// randomClineTree makes a tree of the places of Cline, or of all coding agents.
func randomClineTree(seed uint64) *tree {
	if seed%4 == 3 {
		return randomMarked(seed)
	}
	r := testenv.RandOf(seed, 41)
	tr := &tree{start: pick(r, "", "", "sub"), noGit: r.IntN(5) == 0, inHome: r.IntN(7) == 0, files: map[string]string{"docs/x.md": "$\n"}, home: map[string]string{}}
	rule := func() string {
		return pick(r, "", "", "", "---\nname: "+pick(r, "aa", "zz", "B", "12", "\"\"")+"\n---\n", "---\ndisabled: "+pick(r, "true", "false", "yes", "\"true\"")+"\n---\n", "---\nenabled: false\n---\n", "---\npaths: [src/**]\n---\n", "---\na: b: c\n---\n", "\ufeff---\nname: bb\n---\n", "---\r\ndisabled: true\r\n---\r\n", "---\n", "---\n---\n") +
			pick(r, "Rule $.\n", "Rule $.\n", "Rule $.\n", "", " \n")
	}
	skill := func() string {
		name := pick(r, "one", "Two", "three", "x:y")
		return pick(r, clineSkill(name), clineSkill(name), clineSkill(name), "---\nname: "+name+"-$\n---\nbody\n", "---\nname: "+name+"-$\ndescription: a: b\n---\nbody\n", "---\nname: "+name+"-$\n---\n", "---\nname: "+name+"-$\ndisabled: true\n---\nbody\n", "\ufeff"+clineSkill(name), "---\nname: "+name+"-$\ndescription: 3\n---\nbody\n")
	}
	agent := func() string {
		return pick(r, clineAgent, clineAgent, "---\nname: same\ndescription: $\n---\nDo.\n", "---\nname: Same\ndescription: $\n---\nDo.\n", "---\nname: x-$\n---\nDo.\n", "---\nname: y-$1\ndescription: $2\n---\n", "name: z-$\n")
	}
	for _, dir := range []string{"", "sub"} {
		fill(r, tr.files, r.IntN(2), inPlace(dir, "", "AGENTS.md"), rule)
		if r.IntN(6) == 0 {
			fill(r, tr.files, 1, inPlace(dir, "", ".clinerules"), rule)
		}
		fill(r, tr.files, r.IntN(4), inPlace(dir, ".clinerules/", "a.md", "B.md", "c.txt", "d.markdown", "AGENTS.md", "e.mdc", "f/g.md", "a.txt"), rule)
		fill(r, tr.files, r.IntN(4), inPlace(dir, ".cline/rules/", "a.md", "b.md", "h.MD", "AGENTS.md", "i/j.md"), rule)
		for _, place := range []string{".cline/skills/", ".agents/skills/", ".clinerules/skills/"} {
			fill(r, tr.files, r.IntN(3), inPlace(dir, place, "one/SKILL.md", "two/SKILL.md", "SKILL.md", "g/h/SKILL.md", ".i/SKILL.md"), skill)
		}
		fill(r, tr.files, r.IntN(3), inPlace(dir, ".cline/agents/", "a.yaml", "b.yml", "c.md"), agent)
	}
	if r.IntN(2) == 0 {
		fill(r, tr.home, r.IntN(4), []string{".cline/rules/a.md", ".cline/rules/u.md", "Cline/Rules/a.md", "Cline/Rules/v.md", "Documents/Cline/Rules/w.md", ".agents/AGENTS.md"}, rule)
		fill(r, tr.home, r.IntN(3), []string{".cline/skills/one/SKILL.md", ".agents/skills/u/SKILL.md", ".claude/skills/one/SKILL.md"}, skill)
		fill(r, tr.home, r.IntN(2), []string{".cline/agents/a.yaml", ".cline/agents/u.yml"}, agent)
	}
	if r.IntN(5) == 0 {
		fill(r, tr.files, 1, []string{".cline/skills/lk", ".agents/skills/lk"}, func() string { return "-> ../../shared" })
		fill(r, tr.files, 1, []string{".clinerules/l.md", ".clinerules/AGENTS.md"}, func() string { return "-> ../docs/x.md" })
		fill(r, tr.files, 1, []string{"shared/SKILL.md"}, func() string { return clineSkill("shared") })
	}
	return tr
}
