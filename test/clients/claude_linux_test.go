package clients_test

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
)

// ofClaude are the trees of Claude Code's classes, with marks.
func ofClaude() (all []tree) {
	for _, list := range [][]tree{fileTrees, importTrees, claudeTrees} {
		for i := range list {
			tr := *withMarks(&list[i])
			if tr.name = "claude: " + tr.name; i < len(fileTrees) && &list[0] == &fileTrees[0] {
				tr.files["sub/deep/x.txt"], tr.reads = "content", "sub/deep/x.txt"
			}
			all = append(all, tr)
		}
	}
	return all
}

// fileTrees are workspaces in which Claude Code reads sub/deep/x.txt.
var fileTrees = []tree{
	{name: "all that comes", files: map[string]string{
		"CLAUDE.md": "top", "sub/CLAUDE.md": "sc", "sub/deep/CLAUDE.md": "dc", "sub/.claude/CLAUDE.md": "dot", "sub/CLAUDE.local.md": "loc", "sub/AGENTS.md": "sa",
		"sub/.claude/skills/n/SKILL.md": head("n", "Below."), "sub/.claude/agents/a.md": head("a", "Not."), "sub/.claude/commands/c.md": "Not.", "other/CLAUDE.md": "Not.",
		"sub/.claude/rules/r.md": "rule", "sub/.claude/rules/q.md": "---\npaths: \"*.TXT\"\n---\nQ", ".claude/rules/p.md": "---\npaths: sub/**\n---\nP",
		".claude/rules/no.md": "---\npaths: other\n---\nN", ".claude/rules/dir.md": "---\npaths: /sub\n---\nD", ".claude/rules/top.md": "---\npaths: /*.txt\n---\nT",
	}},
	{name: "AGENTS.md in the place of all", files: map[string]string{
		"AGENTS.md": "top", "sub/AGENTS.md": "sa", "sub/deep/CLAUDE.md": "dc", "sub/.claude/AGENTS.md": "dot", "sub/deep/.claude/rules/r.md": "rule",
	}},
	{name: "nothing at the start", files: map[string]string{"sub/AGENTS.md": "sa", "sub/deep/AGENTS.md": "da"}},
}

// claudeHead is a skill, a subagent or a command.
func claudeHead(r *rand.Rand) string {
	body := pick(r, "body\n", "# Head\n\ntext\n", "", "\n\n  spaced\n", "- li\n", "####### seven\n", "#nospace\n")
	if r.IntN(7) == 0 {
		return body
	}
	var b strings.Builder
	b.WriteString("---\n")
	if name := pick(r, "n1", "n2", "N3", "with space", "a:b", "", "-"); name != "-" {
		b.WriteString("name: " + name + "\n")
	}
	if r.IntN(10) > 0 {
		b.WriteString("description: " + pick(r, "D.", "x: y", "use @me", "it's", "a #b", `"quoted"`, "[list]", ">-\n  folded\n  text", "|\n  two\n  lines", "", "12", "true", "é", "*star",
			"- dash", "a --- b", "{x}", "null", "~") + "\n")
	}
	keys := map[string][]string{
		"disable-model-invocation": {"true", "false", "yes"}, "paths": {"src/**", `"**"`, `"**/*"`, "[a, b]", "", `"**, x"`, `src/**, "**"`}, "when_to_use": {"W"},
		"bad": {"["}, "  odd": {"x"}, "user-invocable": {"false"}, "model": {"haiku"},
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) { // in one order, so that a seed makes one tree
		if r.IntN(8) == 0 {
			b.WriteString(key + ": " + pick(r, keys[key]...) + "\n")
		}
	}
	head := b.String()
	if r.IntN(15) == 0 {
		head = strings.ReplaceAll(head, "\n", "\r\n")
	}
	return head + pick(r, "---\n", "---\n", "---\n", "--- \n", "---", "----\n", "") + body
}

// randomClaudeTree makes a tree of the places of Claude Code.
func randomClaudeTree(r *rand.Rand) *tree {
	tr := &tree{start: pick(r, "", "", "sub", "sub/deep"), noGit: r.IntN(5) == 0, inHome: r.IntN(7) == 0, files: map[string]string{"docs/x.md": "X"}, home: map[string]string{}}
	text := func() string {
		return pick(r, "text", "", "  \n", "<!-- c -->", "<!-- c --> x", "---\na: b\n---\n", "---\na: b\n---\nt", "@AGENTS.md", "see @docs/x.md and @CLAUDE.md", "<!-- @docs/x.md -->", "\ufeffBOM")
	}
	some := func(files map[string]string, most int, dir string, names []string, text func() string) {
		for range r.IntN(most + 1) {
			files[filepath.Join(dir, pick(r, names...))] = text()
		}
	}
	head := func() string { return claudeHead(r) }
	for _, dir := range []string{"", "sub", "sub/deep"} {
		some(tr.files, 3, dir, []string{"CLAUDE.md", "CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", "AGENTS.md", ".claude/AGENTS.md", "none"}, text)
		some(tr.files, 2, dir+"/.claude/rules", []string{"a.md", "b.md", "s/c.md", "d.MD", "e.txt"}, func() string {
			return pick(r, "R", "", "---\npaths: src/**\n---\nR", "---\npaths: \"**\"\n---\nR", "---\npaths: [\"**\",\"a\"]\n---\nR", "---\nx: y\n---\n", "---\nglobs: x\n---\nR", "---\npaths:\n  - \"**/**\"\n---\nR")
		})
		some(tr.files, 3, dir+"/.claude/skills", []string{"s1/SKILL.md", "s2/SKILL.md", "S3/SKILL.md", "s4/SKILL.md", "g/s5/SKILL.md", ".s6/SKILL.md"}, head)
		some(tr.files, 2, dir+"/.claude/agents", []string{"a1.md", "a2.md", "x/a3.md"}, head)
		some(tr.files, 2, dir+"/.claude/commands", []string{"c1.md", "c2.md", "x/c3.md", "s1.md", "README.md"}, head)
	}
	if r.IntN(2) == 0 {
		some(tr.home, 2, "", []string{".claude/CLAUDE.md", ".claude/CLAUDE.md", ".claude/rules/u.md", ".claude/AGENTS.md", "CLAUDE.md", "AGENTS.md"}, text)
		some(tr.home, 2, ".claude/skills", []string{"s1/SKILL.md", "u1/SKILL.md", "u2/SKILL.md"}, head)
		some(tr.home, 2, ".claude/agents", []string{"a1.md", "u1.md"}, head)
		some(tr.home, 2, ".claude/commands", []string{"c1.md", "u1.md", "s1.md"}, head)
	}
	if r.IntN(5) == 0 {
		tr.files["shared/SKILL.md"], tr.files[".claude/skills/lk"] = head(), "-> ../../shared"
	}
	if r.IntN(7) == 0 {
		tr.files["CLAUDE.md"], tr.files["AGENTS.md"] = "-> AGENTS.md", cmp.Or(tr.files["AGENTS.md"], "A")
	}
	return tr
}

// manySkills are skills of many lengths, in the order of their names.
func manySkills(n, longest int, letter string) map[string]string {
	r, files := rand.New(rand.NewPCG(7, uint64(n))), map[string]string{}
	for i := range n {
		files[fmt.Sprintf(".claude/skills/s%03d/SKILL.md", i)] = head(fmt.Sprintf("s%03d", i), strings.Repeat(letter, 5+r.IntN(longest)))
		files[fmt.Sprintf(".claude/commands/c%03d.md", i)] = fmt.Sprintf("---\ndescription: %s\n---\n", strings.Repeat("y", 5+r.IntN(longest/2)))
	}
	return files
}

// claudeTrees are the classes in which it differed once.
var claudeTrees = []tree{
	{name: "more than a list has room for", files: manySkills(60, 1000, "x")},
	{name: "letters of two bytes", files: manySkills(80, 700, "é")},
	{name: "names alone", files: manySkills(700, 300, "x")},
	{name: "agents only", files: map[string]string{"AGENTS.md": "a"}},
	{name: "dir agents", files: map[string]string{".claude/AGENTS.md": "a", "AGENTS.md": "b"}},
	{name: "nested start", start: "sub", files: map[string]string{"AGENTS.md": "a", "sub/AGENTS.md": "b", "sub/x": "x"}},
	{name: "claude above hides", start: "sub", files: map[string]string{"CLAUDE.md": "c", "sub/AGENTS.md": "b"}},
	{name: "local hides", files: map[string]string{"CLAUDE.local.md": "l", "AGENTS.md": "b"}},
	{name: "blank claude", files: map[string]string{"CLAUDE.md": " \n", "AGENTS.md": "b"}},
	{name: "fm only claude", files: map[string]string{"CLAUDE.md": "---\na: b\n---\n", "AGENTS.md": "b"}},
	{name: "rules and agents", files: map[string]string{".claude/rules/r.md": "r", "AGENTS.md": "b"}},
	{name: "user and agents", files: map[string]string{"AGENTS.md": "b"}, home: map[string]string{".claude/CLAUDE.md": "U", ".claude/rules/u.md": "ur"}},
	{name: "home above", inHome: true, files: map[string]string{"AGENTS.md": "b", "CLAUDE.md": "c"}, home: map[string]string{".claude/CLAUDE.md": "U", ".claude/rules/u.md": "ur"}},
	{name: "home above agents", inHome: true, files: map[string]string{"AGENTS.md": "b"}, home: map[string]string{".claude/CLAUDE.md": "U"}},
	{name: "home above nogit", noGit: true, inHome: true, files: map[string]string{"AGENTS.md": "b"}, home: map[string]string{".claude/CLAUDE.md": "U", "AGENTS.md": "ha"}},
	{name: "nogit above", start: "sub", noGit: true, files: map[string]string{"CLAUDE.md": "c", "sub/CLAUDE.md": "s"}},
	{name: "nogit skills", start: "sub", noGit: true, files: map[string]string{".claude/skills/a/SKILL.md": "---\nname: a\ndescription: D.\n---\nbody\n", "sub/.claude/skills/b/SKILL.md": "---\nname: b\ndescription: D.\n---\nbody\n"}},
	{name: "git skills up", start: "sub", files: map[string]string{".claude/skills/a/SKILL.md": "---\nname: a\ndescription: D.\n---\nbody\n", "sub/.claude/skills/b/SKILL.md": "---\nname: b\ndescription: D.\n---\nbody\n", "sub/.claude/agents/g.md": "---\nname: g\ndescription: D.\n---\nbody\n", ".claude/agents/t.md": "---\nname: t\ndescription: D.\n---\nbody\n", ".claude/commands/tc.md": "tc", "sub/.claude/commands/sc.md": "sc"}},
	{name: "user all", files: map[string]string{".claude/skills/a/SKILL.md": "---\nname: a\ndescription: D.\n---\nbody\n"}, home: map[string]string{".claude/skills/u/SKILL.md": "---\nname: u\ndescription: D.\n---\nbody\n", ".claude/agents/ua.md": "---\nname: ua\ndescription: D.\n---\nbody\n", ".claude/commands/uc.md": "do uc"}},
	{name: "same names", files: map[string]string{".claude/skills/a/SKILL.md": "---\nname: a\ndescription: project\n---\nbody\n", ".claude/agents/x.md": "---\nname: x\ndescription: project\n---\nbody\n", ".claude/commands/c.md": "---\ndescription: project\n---\nx"}, home: map[string]string{".claude/skills/a/SKILL.md": "---\nname: a\ndescription: user\n---\nbody\n", ".claude/agents/x.md": "---\nname: x\ndescription: user\n---\nbody\n", ".claude/commands/c.md": "---\ndescription: user\n---\nx"}},
	{name: "disable model", files: map[string]string{".claude/skills/a/SKILL.md": "---\nname: a\ndescription: D\ndisable-model-invocation: true\n---\nbody\n", ".claude/commands/c.md": "---\ndescription: C\ndisable-model-invocation: true\n---\nx"}},
	{name: "skill paths", files: map[string]string{".claude/skills/a/SKILL.md": "---\nname: a\ndescription: D\npaths: src/**\n---\nbody\n", "src/x.go": "x"}},
	{name: "no frontmatter", files: map[string]string{".claude/skills/a/SKILL.md": "# Title\nFirst line.\n", ".claude/skills/b/SKILL.md": "---\nname: b\ndescription: x: y: z\n  - [\n---\nBody line\n"}},
	{name: "dir name differs", files: map[string]string{".claude/skills/dir/SKILL.md": "---\nname: other\ndescription: D.\n---\nbody\n"}},
	{name: "when to use", files: map[string]string{".claude/skills/a/SKILL.md": "---\nname: a\ndescription: D.\nwhen_to_use: W.\n---\nbody\n"}},
	{name: "deep skill", files: map[string]string{".claude/skills/g/x/SKILL.md": "---\nname: x\ndescription: D.\n---\nbody\n"}},
	{name: "nested skill below", files: map[string]string{"sub/.claude/skills/n/SKILL.md": "---\nname: n\ndescription: D.\n---\nbody\n", "sub/.claude/agents/n.md": "---\nname: na\ndescription: D.\n---\nbody\n", "sub/.claude/commands/nc.md": "x"}},
	{name: "rules links out", files: map[string]string{".claude/rules/out.md": "-> ../../../o.md", ".claude/rules/in.md": "-> ../../in.md", "in.md": "I", "../o.md": "O", "CLAUDE.md": "c"}},
	{name: "claude link out", files: map[string]string{"CLAUDE.md": "-> ../o.md", "../o.md": "O"}},
	{name: "same file twice", files: map[string]string{"CLAUDE.md": "c", ".claude/CLAUDE.md": "-> ../CLAUDE.md", ".claude/rules/r.md": "-> ../../CLAUDE.md"}},
	{name: "rules paths", files: map[string]string{"CLAUDE.md": "c", ".claude/rules/a.md": "---\npaths: \"**\"\n---\nA", ".claude/rules/b.md": "---\npaths: \"**/*\"\n---\nB", ".claude/rules/c.md": "---\npaths: src/**\n---\nC", ".claude/rules/sub/d.md": "D"}},
	{name: "rules order", files: map[string]string{".claude/rules/b.md": "B", ".claude/rules/a/z.md": "Z", ".claude/rules/A.md": "A", ".claude/rules/_x.md": "X", "CLAUDE.md": "c", ".claude/CLAUDE.md": "d", "CLAUDE.local.md": "l"}},
	{name: "user rules order", files: map[string]string{"CLAUDE.md": "c"}, home: map[string]string{".claude/rules/b.md": "B", ".claude/rules/a.md": "A", ".claude/CLAUDE.md": "U"}},
	{name: "agents order", files: map[string]string{".claude/agents/b.md": "---\nname: b\ndescription: D.\n---\nbody\n", ".claude/agents/a.md": "---\nname: a\ndescription: D.\n---\nbody\n", ".claude/agents/sub/c.md": "---\nname: c\ndescription: D.\n---\nbody\n"}, home: map[string]string{".claude/agents/z.md": "---\nname: z\ndescription: D.\n---\nbody\n"}},
	{name: "agent no name", files: map[string]string{".claude/agents/a.md": "---\ndescription: x\n---\nb", ".claude/agents/b.md": "---\nname: b\n---\nb", ".claude/agents/README.md": "# Readme\n"}},
	{name: "commands deep", files: map[string]string{".claude/commands/g/x.md": "do", ".claude/commands/y.md": "# T\ndo", ".claude/commands/z.txt": "no"}},
	{name: "case", files: map[string]string{"claude.md": "c", ".claude/skills/a/skill.md": "---\nname: a\ndescription: D.\n---\nbody\n"}},
	{name: "crlf and bom", files: map[string]string{"CLAUDE.md": "\ufefftext\r\n", ".claude/skills/a/SKILL.md": "---\r\nname: a\r\ndescription: D\r\n---\r\nb"}},
	{name: "html comment only", files: map[string]string{"CLAUDE.md": "<!-- x -->", "AGENTS.md": "a"}},
	{name: "comments", files: map[string]string{"CLAUDE.md": "a <!-- x --> b\n<!--\nlong\n-->\nc"}},
	{name: "empty skill desc", files: map[string]string{".claude/skills/a/SKILL.md": "---\nname: a\n---\nThe body\n"}},
	{name: "user-invocable false", files: map[string]string{".claude/skills/a/SKILL.md": "---\nname: a\ndescription: D\nuser-invocable: false\n---\nbody\n"}},
	{name: "many agents md", start: "sub", files: map[string]string{"AGENTS.md": "a", ".claude/AGENTS.md": "b", "sub/AGENTS.md": "c", "sub/.claude/AGENTS.md": "d"}},
	{name: "skills of many places", start: "sub", files: map[string]string{".claude/skills/m/SKILL.md": "---\nname: m\ndescription: D.\n---\nbody\n", ".claude/skills/b/SKILL.md": "---\nname: b\ndescription: D.\n---\nbody\n", ".claude/skills/Z/SKILL.md": "---\nname: Z\ndescription: D.\n---\nbody\n", ".claude/skills/a/SKILL.md": "---\nname: a\ndescription: D.\n---\nbody\n", ".claude/commands/y.md": "do y", ".claude/commands/c.md": "do c", ".claude/commands/K.md": "do K", "sub/.claude/skills/q/SKILL.md": "---\nname: q\ndescription: D.\n---\nbody\n", "sub/.claude/skills/d/SKILL.md": "---\nname: d\ndescription: D.\n---\nbody\n", "sub/.claude/commands/w.md": "do w", "sub/.claude/commands/e.md": "do e"}, home: map[string]string{".claude/skills/u2/SKILL.md": "---\nname: u2\ndescription: D.\n---\nbody\n", ".claude/skills/u1/SKILL.md": "---\nname: u1\ndescription: D.\n---\nbody\n", ".claude/commands/uc.md": "user cmd", ".claude/agents/a.md": "---\nname: a\ndescription: D.\n---\nbody\n"}},
	{name: "lenient skills", files: map[string]string{".claude/skills/a/SKILL.md": "# Title\n\nFirst line.\nSecond", ".claude/skills/b/SKILL.md": "---\nname: bb\ndescription: x: y: z\n  - [\n---\nBody line\n", ".claude/skills/d/SKILL.md": "", ".claude/skills/f/SKILL.md": "---\nname: f\ndescription:\n  - list\n---\nBody f", ".claude/skills/j/SKILL.md": "---\ndescription: x\n---body j", ".claude/skills/l/SKILL.md": "---\ndescription: a: b\nfoo: [\n---\nbody l", ".claude/skills/o/SKILL.md": "---\nname: b\ndescription: D no end\nbody", ".claude/skills/r/SKILL.md": "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}},
	{name: "lenient commands", files: map[string]string{".claude/commands/a.md": "# Title\n\nDo this.\n", ".claude/commands/b.md": "", ".claude/commands/g/c.md": "x", ".claude/commands/e.md": "---\ndescription: [\n---\nbody e"}},
	{name: "links of rules", start: "sub", files: map[string]string{".claude/rules/in.md": "-> ../../x.md", "x.md": "X", "sub/.claude/rules/up.md": "-> ../../../x2.md", "x2.md": "X2", ".claude/rules/dl": "-> ../../outd", "../outd/z.md": "Z"}},
	{name: "a directory that is a link", files: map[string]string{".claude": "-> ../outc", "../outc/rules/a.md": "A", "../outc/CLAUDE.md": "C", "../outc/skills/s/SKILL.md": "---\nname: s\ndescription: D.\n---\nbody\n"}},
	{name: "flags", files: map[string]string{".claude/skills/a/SKILL.md": "---\nname: a\ndescription: D.\ndisable-model-invocation: \"true\"\n---\nbody\n", ".claude/skills/b/SKILL.md": "---\nname: b\ndescription: D.\ndisable-model-invocation: yes\n---\nbody\n", ".claude/skills/c/SKILL.md": "---\nname: c\ndescription: D.\nuser-invocable: false\n---\nbody\n", ".claude/skills/d/SKILL.md": "---\nname: d\ndescription: D.\npaths: []\n---\nbody\n", ".claude/skills/e/SKILL.md": "---\nname: e\ndescription: D.\npaths: \"**\"\n---\nbody\n", ".claude/skills/f/SKILL.md": "---\nname: f\ndescription: D.\npaths: \"**/*\"\n---\nbody\n", ".claude/skills/g/SKILL.md": "---\nname: g\ndescription: D.\npaths: [a.go]\n---\nbody\n", ".claude/skills/h/SKILL.md": "---\nname: h\ndescription: D.\ndisable-model-invocation: no\n---\nbody\n", ".claude/commands/x.md": "---\npaths: src/**\n---\ndo"}},
	{name: "subagents", files: map[string]string{".claude/agents/a.md": "---\nname: a\ndescription: D.\n---\nbody\n", ".claude/agents/x/b.md": "---\nname: b\ndescription: D.\n---\nbody\n", ".claude/agents/c.md": "---\nname: c\ndescription: x: y: z\n---\nb", ".claude/agents/d.md": "---\nname: d\ndescription: |\n  multi\n  line\n---\nb", ".claude/agents/g.md": "---\nname: a\ndescription: again\n---\nbody\n", ".claude/agents/n.md": "---\nname: n\ndescription: 12\n---\n", ".claude/agents/col.md": "---\nname: a:b\ndescription: D.\n---\nbody\n"}},
	{name: "home above, agents", start: "sub", inHome: true, files: map[string]string{"AGENTS.md": "a", "sub/AGENTS.md": "sa"}, home: map[string]string{".claude/CLAUDE.md": "U", ".claude/AGENTS.md": "ha"}},
	{name: "home above, hides", inHome: true, files: map[string]string{"AGENTS.md": "a"}, home: map[string]string{"CLAUDE.md": "hc"}},
}

// importTrees are what Claude Code imports in, and what it doesn't.
var importTrees = []tree{
	{name: "everywhere", files: map[string]string{
		"CLAUDE.md": "Text.\n@AGENTS.md and more\n@1.md\n@4.md\n", "AGENTS.md": "Rules, see @docs/style @docs @none.md @c.md\n", "docs/style": "style\n", "c.md": "C",
		"1.md": "@2.md @CLAUDE.md @c.md", "2.md": "@3.md", "3.md": "@4.md", "4.md": "@5.md", "5.md": "far",
		".claude/CLAUDE.md": "D @d.md @../e.md", ".claude/d.md": "D2", "e.md": "E", ".claude/rules/p.md": "---\npaths: src/**\n---\nP @../../h.md", "h.md": "H",
		"CLAUDE.local.md": "L @g.md @../out.md", "g.md": "G", "../out.md": "O",
	}},
	{name: "AGENTS.md alone", files: map[string]string{
		"CLAUDE.md": "---\na: b\n---\n<!-- not yet -->\n", "AGENTS.md": "rules, see @docs/style\n", "docs/style": "style\n", ".claude/rules/r.md": "a rule\n",
	}},
	{name: "started below", start: "sub", files: map[string]string{
		"CLAUDE.md": "@AGENTS.md @sub/x.md\n", "AGENTS.md": "top\n", "sub/CLAUDE.md": "@../AGENTS.md @x.md @up/AGENTS.md @l.md\n", "sub/x.md": "x", "sub/up": "-> ..", "sub/l.md": "-> ../AGENTS.md",
	}},
	{name: "links, and the user's own", files: map[string]string{
		"CLAUDE.md": "C @l.md @out.md @real.md @ld/a.md @esc/a.md @~/v.md", "l.md": "-> real.md", "real.md": "R", "../o.md": "O", "out.md": "-> ../o.md", "ld": "-> dir",
		"dir/a.md": "DA @b.md", "dir/b.md": "DB", "b.md": "top", "../od/a.md": "ODA", "esc": "-> ../od",
	}, home: map[string]string{
		".claude/CLAUDE.md": "U @u.md @~/v.md @../w.md", ".claude/u.md": "UU", "v.md": "V", "w.md": "W", ".claude/rules/r.md": "R @../../a.md", "a.md": "A",
	}},
	{name: "a link to AGENTS.md", files: map[string]string{"CLAUDE.md": "-> AGENTS.md", "AGENTS.md": "A @a.md", "a.md": "AA", ".claude/CLAUDE.md": "-> ../AGENTS.md"}},
	{name: "syntax", files: map[string]string{
		"CLAUDE.md": "**@1.md** (@2.md) @3.md. `@4.md` @5.mdc @README @docs/[id].md @my\\ file.md @6.md#part\n\n```\n@7.md\n```\n\n<!-- @8.md -->\n\n    @9.md\n\n- @10.md\n\n<div>\n@11.md\n</div>\n\n[@12.md](x) @.hidden @empty.md @blank.md @docs\n",
		"1.md":      "1", "2.md": "2", "3.md": "3", "4.md": "4", "5.mdc": "5", "README": "r", "docs/[id].md": "id", "my file.md": "my", "6.md": "6", "7.md": "7", "8.md": "8", "9.md": "9",
		"10.md": "10", "11.md": "11", "12.md": "12", ".hidden": "h", "empty.md": "", "blank.md": " \n",
	}},
}
