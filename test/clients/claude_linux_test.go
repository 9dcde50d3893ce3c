package clients_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"waymark/abi"
	"waymark/host/applicability"
	"waymark/test/testenv"
)

// askClaude returns the texts of Claude Code's first request.
func (p programs) askClaude(t *testing.T, home user, start string) string {
	t.Helper()
	home.env = append(slices.Clone(home.env), "ANTHROPIC_API_KEY=sk-ant-none", "DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1", "DISABLE_ERROR_REPORTING=1",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1")
	return string(run(t, home, "model", start, p.claude, "-p", "hello"))
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

var claudeAdds = regexp.MustCompile(`(?m)^(?:tool\.call hook additional context: )?Contents of (/.*?)(?: \(.*\))?:$`)

// TestClaudeFile: what is said to come with a file is what Claude Code has when it has read it.
func TestClaudeFile(t *testing.T) {
	t.Parallel()
	p := find(t)
	for i := range fileTrees {
		tr := &fileTrees[i]
		t.Run(tr.name, func(t *testing.T) {
			t.Parallel()
			tr.files["sub/deep/x.txt"] = "content"
			start, home := tr.make(t), tr.makeHome(t)
			file := filepath.Join(start, "sub/deep/x.txt")
			before := readClaude(p.askClaude(t, home, start))
			home.env = append(home.env, readsFile+"="+file)
			told := p.askClaude(t, home, start)
			var has []string
			for _, m := range claudeAdds.FindAllStringSubmatch(told, -1) {
				if !slices.Contains(before.instructions, m[1]) && !slices.Contains(has, m[1]) {
					has = append(has, m[1])
				}
			}
			if strings.Contains(told, "New skills discovered") {
				has = append(has, "skills")
			}
			cmd := exec.CommandContext(t.Context(), p.agent, "for", "--client", "claude", "--root", start, "--json", file)
			cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home.dir}
			out, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			var answer applicability.Answer
			if err := json.Unmarshal(out, &answer); err != nil {
				t.Fatal(err)
			}
			var said []string
			for i := range answer.Items {
				switch it := &answer.Items[i]; {
				case !it.Applies || it.When != "file":
				case it.Kind == abi.KindInstructionFile:
					said = append(said, filepath.Join(start, it.Path))
				case it.Kind == abi.KindSkill:
					said = append(said, "skills")
				default:
					t.Errorf("the %s %s is said to come with a file", it.Kind, it.Name)
				}
			}
			slices.Sort(has)
			slices.Sort(said)
			if !slices.Equal(has, said) || len(has) == 0 {
				t.Errorf("Claude Code (-) has something else than is said (+):\n%s", gocmp.Diff(has, said))
			}
		})
	}
}

var (
	claudeAgents = regexp.MustCompile(`(?s)Available agent types for the Agent tool:\n(.*?)\n\n`)
	claudeAgent  = regexp.MustCompile(`(?m)^- (.*?): `)
	claudeSkills = regexp.MustCompile(`(?s)The following skills are available for use with the Skill tool:\n\n(.*)`)
	// A skill that says another name than its directory's has that in parentheses.
	claudeSkill = regexp.MustCompile(`(?m)^- ((?:[\w.-]+:)*[^\s:]+)(?: \([^)]*\))?(:|$)`)
)

// claudeView is what Claude Code has at its start: paths without links, and names.
type claudeView struct{ instructions, agents, lists []string }

// readClaude reads a request.
func readClaude(told string) (v claudeView) {
	for _, m := range contents.FindAllStringSubmatch(told, -1) {
		v.instructions = append(v.instructions, m[1])
	}
	names := func(list *[]string, part, name *regexp.Regexp) {
		if m := part.FindStringSubmatch(told); m != nil {
			for _, m := range name.FindAllStringSubmatch(m[1], -1) {
				*list = append(*list, m[1])
				if len(m) > 2 && m[2] == "" {
					(*list)[len(*list)-1] += alone
				}
			}
		}
	}
	names(&v.agents, claudeAgents, claudeAgent)
	names(&v.lists, claudeSkills, claudeSkill)
	return v
}

// alone is behind the name of a skill or command that is listed without its description.
const alone = " alone"

// without takes out what Claude Code has everywhere.
func (v claudeView) without(own claudeView) claudeView {
	v.agents = slices.DeleteFunc(v.agents, func(name string) bool { return slices.Contains(own.agents, name) })
	v.lists = slices.DeleteFunc(v.lists, func(name string) bool { return slices.Contains(own.lists, strings.TrimSuffix(name, alone)) })
	return v
}

// judgeClaude compares a tree. The rules of one directory are in the order of the file
// system, and so aren't compared in theirs.
func (p programs) judgeClaude(t *testing.T, tr *tree, own claudeView) {
	t.Helper()
	home := tr.makeHome(t)
	var start string
	if tr.inHome {
		start = tr.makeIn(t, home.dir)
	} else {
		start = tr.make(t)
	}
	view, _ := p.said(t, home, "claude", start)
	has := readClaude(p.askClaude(t, home, start)).without(own)
	var said claudeView
	rules := map[string]bool{}
	for i := range view.Items {
		switch it := &view.Items[i]; {
		case !it.Included:
		case it.Kind == abi.KindInstructionFile:
			said.instructions = append(said.instructions, it.Path)
			rules[resolved(it.Path)] = it.Convention == "claude-rules"
		case it.Kind == abi.KindSubagent:
			said.agents = append(said.agents, it.Name)
		case it.Description == "":
			said.lists = append(said.lists, it.Name+alone)
		default:
			said.lists = append(said.lists, it.Name)
		}
	}
	said = said.without(own)
	slices.Sort(has.agents)
	slices.Sort(said.agents)
	order := func(list []string) (ordered []string) {
		from := 0
		for _, path := range list {
			if ordered = append(ordered, resolved(path)); !rules[resolved(path)] {
				slices.Sort(ordered[from : len(ordered)-1])
				from = len(ordered)
			}
		}
		slices.Sort(ordered[from:])
		return ordered
	}
	for what, lists := range map[string][2][]string{
		"instructions": {order(has.instructions), order(said.instructions)}, "subagents": {has.agents, said.agents}, "skills and commands": {has.lists, said.lists},
	} {
		if !slices.Equal(lists[0], lists[1]) {
			t.Errorf("the %s of Claude Code (-) aren't what is said (+):\n%.3000s", what, gocmp.Diff(lists[0], lists[1]))
		}
	}
}

// resolved is a path without links.
func resolved(path string) string {
	to, err := filepath.EvalSymlinks(path)
	if err != nil {
		return path
	}
	return to
}

// ownOfClaude is what Claude Code has where there is nothing.
func (p programs) ownOfClaude(t *testing.T) claudeView {
	t.Helper()
	nothing := tree{}
	start := nothing.make(t)
	return readClaude(p.askClaude(t, nothing.makeHome(t), start))
}

// TestClaude: what is said of Claude Code's start is what it sends to its model.
func TestClaude(t *testing.T) {
	t.Parallel()
	p := find(t)
	own := p.ownOfClaude(t)
	turns := make(chan struct{}, runtime.NumCPU())
	for i := range claudeTrees {
		tr := &claudeTrees[i]
		t.Run(tr.name, func(t *testing.T) {
			t.Parallel()
			turns <- struct{}{}
			defer func() { <-turns }()
			p.judgeClaude(t, tr, own)
		})
	}
}

// TestClaudeRandom does so for trees that nobody thought of.
func TestClaudeRandom(t *testing.T) {
	t.Parallel()
	p := find(t)
	own, seed := p.ownOfClaude(t), testenv.Seed(t)
	for i := range testenv.Rounds(0, 10, 200) {
		tr := randomClaudeTree(testenv.RandOf(seed, uint64(i)))
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			p.judgeClaude(t, tr, own)
			if t.Failed() {
				t.Logf("started in %q, without .git: %v, in the home directory: %v", tr.start, tr.noGit, tr.inHome)
				for _, files := range []map[string]string{tr.files, tr.home} {
					for _, name := range slices.Sorted(maps.Keys(files)) {
						t.Logf("%s: %.200q", name, files[name])
					}
				}
			}
		})
	}
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
	for key, values := range map[string][]string{
		"disable-model-invocation": {"true", "false", "yes"}, "paths": {"src/**", `"**"`, `"**/*"`, "[a, b]", "", `"**, x"`, `src/**, "**"`}, "when_to_use": {"W"},
		"bad": {"["}, "  odd": {"x"}, "user-invocable": {"false"}, "model": {"haiku"},
	} {
		if r.IntN(8) == 0 {
			b.WriteString(key + ": " + pick(r, values...) + "\n")
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
