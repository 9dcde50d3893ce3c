package clients_test

import (
	"path"
	"path/filepath"
	"strings"
	"testing"

	"waymark/abi"
	"waymark/test/testenv"
)

// continueRunner lists skills in the order in which it has read them, which changes from start
// to start, and doesn't tell its model of commands and agents.
var continueRunner = runner{
	id: "continue", pkg: "@continuedev/cli", pinned: "npm-continue", seeds: 10,
	command: func(t *testing.T, modules string, home user) []string {
		t.Helper()
		config := filepath.Join(home.dir, "continue-settings.yaml")
		put(t, config, "name: x\nversion: 1.0.0\nschema: v1\nmodels:\n  - {name: m, provider: openai, model: m, apiBase: \"http://"+modelAt+"/v1\", apiKey: none}\n")
		return []string{"node", filepath.Join(modules, "@continuedev/cli/dist/cn.js"), "-p", "hello", "--config", config}
	},
	read:      func(file string) toolCall { return toolCall{"Read", map[string]string{"filepath": file}} },
	unordered: []abi.Kind{abi.KindSkill},
	trees:     continueTrees,
	random:    randomContinueTree,
}

// rulesOf are rules with the same head in several forms: marks stand in the head and in the text.
func rulesOf(dir string, heads map[string]string) map[string]string {
	files := map[string]string{}
	for name, head := range heads {
		files[path.Join(dir, name+".md")] = "---\n" + head + "\n---\nText $.\n"
	}
	return files
}

const anyRule = "---\nname: n\ndescription: About $1.\n---\nText $2.\n"

// continueTrees are workspaces with what Continue alone reads.
var continueTrees = []tree{
	{name: "a rule with a head", files: map[string]string{".continue/rules/a.md": anyRule, ".continue/rules/b.md": "Plain $.\n"}},
	{name: "when rules apply", files: rulesOf(".continue/rules", map[string]string{
		"always": "alwaysApply: true", "never": "alwaysApply: false", "text": "alwaysApply: \"true\"", "null": "alwaysApply:", "globs": "globs: \"**/*.ts\"", "list": "globs: [\"*.ts\"]",
		"all": "globs: \"**\"", "all-files": "globs: \"**/*\"", "no-globs": "globs: \"\"", "no-list": "globs: []", "null-globs": "globs:", "always-globs": "globs: \"*.ts\"\nalwaysApply: true",
		"regex": "regex: \"^x\"", "no-regex": "regex: \"\"", "invokable": "invokable: true", "not-invokable": "invokable: false", "invokable-text": "invokable: \"no\"",
		"described": "description: For tests.\nalwaysApply: false", "yes": "alwaysApply: yes", "one": "alwaysApply: 1", "TRUE": "alwaysApply: TRUE",
	})},
	{name: "heads of rules", files: map[string]string{
		".continue/rules/broken.md": "---\nglobs: [ $1\n---\n$2\n", ".continue/rules/colon.md": "---\ndescription: a: b $1\nglobs: x\n---\n$2\n", ".continue/rules/list.md": "---\n- $1\n---\n$2\n",
		".continue/rules/open.md": "---\nname: $1\n\n$2\n", ".continue/rules/later.md": "Before $1.\n\n---\nalwaysApply: true\n---\nAfter $2.\n", ".continue/rules/glob.md": "Before $1.\n\n---\nglobs: x\n---\nAfter $2.\n",
		".continue/rules/lines.md": "One $1.\n\n---\n\nTwo: $2.\n\n---\n\nThree $3.\n", ".continue/rules/words.md": "One $1.\n\n---\n\nTwo $2.\n\n---\n\nThree $3.\n\n---\n\nFour $4.\n", ".continue/rules/blanks.md": "---  \nname: $1\n---\t\n$2\n",
		".continue/rules/dup.md": "---\nname: a\nname: $1\n---\n$2\n", ".continue/rules/empty.md": "---\n---\n$\n", ".continue/rules/ruler.md": "Before $1.\n\n----\nglobs: x\n----\n$2\n", ".continue/rules/bom.md": "\ufeff---\nglobs: $1\n---\n$2\n",
		".continue/rules/crlf.md": "---\r\nglobs: $1\r\n---\r\n$2\r\n", ".continue/rules/indented.md": "  ---\nglobs: $1\n  ---\n$2\n", ".continue/rules/only.md": "---\nname: $\n---\n", ".continue/rules/end.md": "---\nname: $1\n---",
	}},
	{name: "blank rules", files: map[string]string{".continue/rules/a.md": "", ".continue/rules/b.md": " \n", ".continue/rules/c.md": "---\nname: $\n---\n \n", ".continue/rules/d.md": "<!-- $ -->\n", ".continue/rules/e.md": "\ufeff\n"}},
	{name: "places of rules", files: textsAt(".continue/rules/a.md", ".continue/rules/B.md", ".continue/rules/_c.md", ".continue/rules/z/a.md", ".continue/rules/z/y/a.md", ".continue/rules/b/x.md", ".continue/rules/.h/x.md", ".continue/rules/d.MD",
		".continue/rules/e.mdc", ".continue/rules/f.txt", ".continue/rules/.md", ".continue/rule/a.md", ".continue/a.md", ".continue/rules.md", ".continue/rules/b.md", ".continue/rules/b-.md", ".continue/rules/é.md", ".continue/rules/10.md", ".continue/rules/9.md")},
	{name: "the same text in rules", files: map[string]string{
		"AGENTS.md": "Rule $(one).", ".continue/rules/a.md": "Rule $(one).", ".continue/rules/b.md": "Rule $(one).\n", ".continue/rules/c.md": "---\nname: x\n---\nRule $(one).\n\n", ".continue/rules/d.md": "Rule $.", ".continue/rules/e.md": "Rule $(.continue/rules/d.md).",
	}, home: map[string]string{".continue/rules/u.md": "Rule $(.continue/rules/d.md).", ".continue/rules/v.md": "Rule $.\n"}},
	{name: "rules of the user", files: textsAt(".continue/rules/a.md", "CLAUDE.md"), home: joined(textsAt(".continue/rules/b.md", ".continue/rules/sub/c.md", ".continue/AGENTS.md", ".continue/rules.md"), map[string]string{".continue/rules/g.md": "---\nglobs: x\n---\n$\n"})},
	{name: "rules of the user elsewhere", variables: map[string]string{"CONTINUE_GLOBAL_DIR": "else/c"}, files: textsAt(".continue/rules/a.md"),
		home: joined(textsAt(".continue/rules/b.md", "else/c/rules/c.md", "else/c/rules/s/d.md"), map[string]string{"else/c/skills/one/SKILL.md": named("one"), ".continue/skills/two/SKILL.md": named("two")})},
	{name: "rules that are links", files: map[string]string{
		".continue/rules/in.md": "-> ../../docs/in.md", "docs/in.md": "$\n", ".continue/rules/out.md": "-> ../../../out.md", "../out.md": "$\n", ".continue/rules/none.md": "-> nowhere.md",
		".continue/rules/twice.md": "-> in.md", ".continue/rules/dir": "-> ../../docs/more", "docs/more/x.md": "$\n", "docs/more/deep/y.md": "$\n", ".continue/rules/outdir": "-> ../../../outd", "../outd/z.md": "$\n",
	}},
	{name: "the rules are a link", files: map[string]string{".continue/rules": "-> ../docs/rules", "docs/rules/a.md": "$\n", "docs/rules/s/b.md": "$\n"}},
	{name: "all is a link", files: map[string]string{".continue": "-> ../outc", "../outc/rules/a.md": "$\n", "../outc/skills/one/SKILL.md": named("one"), "AGENTS.md": "-> ../outc/A.md", "../outc/A.md": "$\n"}},
	{name: "AGENT.md before CLAUDE.md", files: textsAt("AGENT.md", "CLAUDE.md", "CODEX.md")},
	{name: "CLAUDE.md before CODEX.md", files: textsAt("CLAUDE.md", "CODEX.md")},
	{name: "CODEX.md alone", files: textsAt("CODEX.md")},
	{name: "an empty AGENTS.md", files: map[string]string{"AGENTS.md": "", "CLAUDE.md": "$\n"}},
	{name: "a blank AGENTS.md", files: map[string]string{"AGENTS.md": " \n", "CLAUDE.md": "$\n", ".continue/rules/a.md": "$\n"}},
	{name: "a head of AGENTS.md", files: map[string]string{"AGENTS.md": anyRule}},
	{name: "a dangling AGENTS.md", files: map[string]string{"AGENTS.md": "-> nowhere.md", "CLAUDE.md": "$\n"}},
	{name: "an AGENTS.md of the case", files: textsAt("Agents.md", "agents.md", "Claude.md", "AGENTS.MD")},
	{name: "started below", start: "sub", files: joined(textsAt("AGENTS.md", ".continue/rules/a.md", "sub/.continue/rules/b.md", "sub/deep/.continue/rules/c.md", "sub/CODEX.md"),
		map[string]string{".continue/skills/one/SKILL.md": named("one"), "sub/.claude/skills/two/SKILL.md": named("two"), ".claude/skills/three/SKILL.md": named("three")})},
	{name: "skills of Continue", files: map[string]string{
		".continue/skills/one/SKILL.md": "---\nname: one $1\ndescription: About $2\n---\nbody $3\n", ".continue/skills/SKILL.md": named("top"), ".continue/skills/g/deep/SKILL.md": named("deep"), ".continue/skills/.hid/SKILL.md": named("hid"),
		".claude/skills/two/SKILL.md": named("two"), ".continue/skills/three/skill.md": named("three"), ".continue/skills/four/README.md": named("four"), ".continue/skills/five.md": named("five"),
	}, home: map[string]string{".continue/skills/mine/SKILL.md": named("mine"), ".claude/skills/no/SKILL.md": named("no"), ".agents/skills/no2/SKILL.md": named("no2")}},
	{name: "skills of Continue that are links", files: map[string]string{
		".continue/skills/dir": "-> ../../shared/dir", "shared/dir/SKILL.md": named("dir"), ".continue/skills/file/SKILL.md": "-> ../../../shared/file.md", "shared/file.md": named("file"), ".claude/skills/file/SKILL.md": "-> ../../../shared/file.md",
		".continue/skills/out/SKILL.md": "-> ../../../../out.md", "../out.md": named("out"), ".claude/skills/gone/SKILL.md": "-> nowhere",
	}},
	{name: "the skills are a link", files: map[string]string{".continue/skills": "-> ../shared", "shared/one/SKILL.md": named("one"), ".claude/skills": "-> ../shared"}},
	{name: "one name in all places", files: map[string]string{
		".continue/skills/one/SKILL.md": named("one"), ".continue/skills/two/SKILL.md": named("one"), ".claude/skills/one/SKILL.md": named("one"), ".claude/skills/same/SKILL.md": named("ONE"),
	}, home: map[string]string{".continue/skills/one/SKILL.md": named("one")}},
	{name: "odd skills of Continue", files: oddSkills(".continue/skills")},
	{name: "types of names", files: skillsNamed(".continue/skills", map[string]string{
		"yes": "yes", "true": "true", "null": "null", "tilde": "~", "date": "2024-01-01", "octal": "0o14", "zero": "014", "hex": "0x1F", "float": "1.5", "exp": "1e3", "under": "1_000", "sixty": "1:30", "inf": ".inf", "nan": ".NaN", "plus": "+12",
		"quoted": "\"12\"", "tag": "!!str 12", "own": "!x y", "list": "[a]", "map": "{a: b}", "empty": "\"\"", "blank": "\" \"", "dot": ".5", "minus": "-", "anchor": "&a b", "alias": "*a", "percent": "%a", "at": "@a", "tick": "`a`", "hash": "a #b", "star": "a*b",
	})},
	{name: "heads of skills", files: map[string]string{
		".claude/skills/before/SKILL.md": "Text.\n---\nname: before\ndescription: $\n---\nbody\n", ".claude/skills/nobody/SKILL.md": "---\nname: nobody\ndescription: $\n---\n", ".claude/skills/tab/SKILL.md": "---\nname: tab\ndescription:\t$\n---\nx\n",
		".claude/skills/dots/SKILL.md": "---\nname: dots\ndescription: $\n...\n---\nx\n", ".claude/skills/extra/SKILL.md": "---\nname: extra\ndescription: $\nmetadata: {a: [b]}\nallowed-tools: Read, Write\n---\nx\n", ".claude/skills/merge/SKILL.md": "---\n<<: {name: merge}\ndescription: $\n---\nx\n",
		".claude/skills/multi/SKILL.md": "---\nname: multi\ndescription: one\n  two $\n---\nx\n", ".claude/skills/comment/SKILL.md": "---\n# c\nname: comment # d\ndescription: $ # e\n---\nx\n", ".claude/skills/flow/SKILL.md": "---\n{name: flow, description: $}\n---\nx\n",
		".claude/skills/ansi/SKILL.md": "---\nname: ansi\ndescription: \"a\\tb $\"\n---\nx\n", ".claude/skills/uni/SKILL.md": "---\nname: ünï\ndescription: é $\n---\nx\n", ".claude/skills/brace/SKILL.md": "---\nname: brace\ndescription: {$}\n---\nx\n", ".claude/skills/excl/SKILL.md": "---\nname: excl\ndescription: !x $\n---\nx\n",
		".claude/skills/quote/SKILL.md": "---\nname: quote\ndescription: \"$\" x\n---\nx\n", ".claude/skills/dash/SKILL.md": "---\nname: dash\ndescription: - $\n---\nx\n", ".claude/skills/colon2/SKILL.md": "---\nname: colon2\ndescription: $:\n---\nx\n", ".claude/skills/url/SKILL.md": "---\nname: url\ndescription: http://x $\n---\nx\n",
	}},
	{name: "the start is the home", start: "..", inHome: true, noGit: true, home: joined(textsAt("AGENTS.md", ".continue/rules/a.md"), map[string]string{".continue/skills/one/SKILL.md": named("one"), ".claude/skills/two/SKILL.md": named("two")})},
	{name: "a file is read", reads: "sub/x.ts", files: joined(textsAt("AGENTS.md", "sub/AGENTS.md", "sub/CLAUDE.md", "sub/.continue/rules/a.md", "sub/rules.md"), map[string]string{"sub/x.ts": "x\n", ".continue/rules/g.md": "---\nglobs: \"**/*.ts\"\n---\n$\n", ".continue/rules/r.md": "---\nregex: x\n---\n$\n", "sub/.continue/skills/one/SKILL.md": named("one")})},
	{name: "prompts and agents", files: map[string]string{".continue/prompts/p.md": anyRule, ".continue/prompts/q.prompt": "name: q\ndescription: $1\n---\n$2\n", ".continue/agents/a.md": anyRule, ".continue/checks/c.md": anyRule, ".continue/docs/d.yaml": "name: $\n", ".continuerules": "$\n", ".continuerc.json": "{}", ".continueignore": "$\n"}},
}

// skillsNamed are skills with names as they are written.
func skillsNamed(dir string, names map[string]string) map[string]string {
	files := map[string]string{}
	for place, name := range names {
		files[path.Join(dir, place, "SKILL.md")] = "---\nname: " + name + "\ndescription: About $.\n---\nbody\n"
	}
	return files
}

// randomContinueTree makes a tree of the places of Continue, or of all coding agents.
func randomContinueTree(seed uint64) *tree {
	if seed%4 == 3 {
		return randomMarked(seed)
	}
	r := testenv.RandOf(seed, 40)
	tr := &tree{start: pick(r, "", "", "", "sub"), noGit: r.IntN(5) == 0, inHome: r.IntN(7) == 0, files: map[string]string{"docs/x.md": "$\n"}, home: map[string]string{}}
	rule := func() string {
		return pick(r, "", "", "", "---\nname: x\n---\n", "---\ndescription: d\n---\n", "---\nglobs: \"**\"\n---\n", "---\nglobs: [a, b]\n---\n", "---\nalwaysApply: true\nglobs: x\n---\n", "---\nalwaysApply: false\n---\n", "---\ninvokable: true\n---\n",
			"---\nregex: a\n---\n", "---\na: b: c\n---\n", "\ufeff---\nglobs: x\n---\n", "Before.\n---\n", "---\n\n---\n", "Top.\n\n---\nglobs: x\n---\n", "---\r\nglobs: x\r\n---\r\n") +
			pick(r, "Rule $.\n", "Rule $.\n", "Rule $.\n", "Rule $(docs/x.md).\n", "", " \n", "One $1.\n\n---\n\nTwo $2.\n\n---\n\nThree $3.\n")
	}
	skill := func() string {
		name := pick(r, "one", "two", "three", "has blanks", "UP", "12", "yes", "")
		return pick(r, named(name), named(name), "---\nname: "+name+"\n---\n$\n", "---\ndescription: $\n---\n", "$\n", "---\nname: "+name+"\ndescription: a: $\n---\n", "\ufeff"+named(name), strings.ReplaceAll(named(name), "\n", "\r\n"), "Text.\n\n"+named(name), "---\nname: "+name+"\ndescription: ["+"$]\n---\n")
	}
	fill(r, tr.files, 1+r.IntN(3), []string{"AGENTS.md", "AGENTS.md", "AGENT.md", "CLAUDE.md", "CODEX.md", "sub/AGENTS.md", "sub/CODEX.md", ".continuerules"}, func() string { return pick(r, "Rule $.\n", "Rule $.\n", "", " \n", anyRule, "\ufeff$\n") })
	for _, dir := range []string{"", "sub"} {
		fill(r, tr.files, r.IntN(5), inPlace(dir, ".continue/rules/", "a.md", "b.md", "C.md", "d/a.md", "d/e/f.md", "d/.g.md", "h.mdc", "i.MD", ".j/k.md", "a-b.md"), rule)
		fill(r, tr.files, r.IntN(4), inPlace(dir, ".continue/skills/", "one/SKILL.md", "two/SKILL.md", "SKILL.md", "g/h/SKILL.md", ".i/SKILL.md"), skill)
		fill(r, tr.files, r.IntN(3), inPlace(dir, ".claude/skills/", "one/SKILL.md", "two/SKILL.md", "three/skill.md"), skill)
	}
	if r.IntN(2) == 0 {
		fill(r, tr.home, r.IntN(4), []string{".continue/rules/a.md", ".continue/rules/u.md", ".continue/rules/s/v.md"}, rule)
		fill(r, tr.home, r.IntN(3), []string{".continue/skills/one/SKILL.md", ".continue/skills/u/SKILL.md", ".claude/skills/one/SKILL.md"}, skill)
	}
	if r.IntN(5) == 0 {
		fill(r, tr.files, 1, []string{".continue/skills/lk", ".claude/skills/lk"}, func() string { return "-> ../../shared" })
		fill(r, tr.files, 1, []string{".continue/rules/lk", ".continue/rules/d/lk"}, func() string { return "-> " + pick(r, "../../shared", "../../docs", "../../../shared") })
		fill(r, tr.files, 1, []string{".continue/rules/l.md"}, func() string { return "-> ../../docs/x.md" })
		fill(r, tr.files, 1, []string{"shared/SKILL.md"}, func() string { return named("shared") })
	}
	return tr
}
