package clients_test

import (
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"waymark/abi"
	"waymark/test/testenv"
)

var piRunner = runner{
	id: "pi", pkg: "@mariozechner/pi-coding-agent", pinned: "npm-pi", seeds: 10,
	command: func(t *testing.T, modules string, home user) []string {
		t.Helper()
		dir := filepath.Join(home.dir, ".pi/agent")
		for _, pair := range home.env {
			if name, value, _ := strings.Cut(pair, "="); name == "PI_CODING_AGENT_DIR" {
				dir = value
			}
		}
		put(t, filepath.Join(dir, "models.json"), `{"providers":{"fake":{"baseUrl":"http://`+modelAt+`/v1","api":"openai-completions","apiKey":"none","models":[{"id":"m"}]}}}`)
		return []string{"node", filepath.Join(modules, "@mariozechner/pi-coding-agent/dist/cli.js"), "-p", "hello", "--provider", "fake", "--model", "m", "--no-session"}
	},
	env:    []string{"PI_OFFLINE=1"},
	read:   func(file string) toolCall { return toolCall{"read", map[string]string{"path": file}} },
	unsent: []abi.Kind{abi.KindCommand},
	trees:  piTrees,
	random: randomPi,
	differs: map[string]string{
		"pi: ignore files among skills": "Waymark doesn't read the .gitignore of a directory of skills",
	},
}

var piNames = []string{"AGENTS.md", "AGENTS.MD", "CLAUDE.md", "CLAUDE.MD", ".pi/SYSTEM.md", ".pi/APPEND_SYSTEM.md", "SYSTEM.md", "APPEND_SYSTEM.md", ".pi/AGENTS.md", "agents.md"}

var piHome = []string{".pi/agent/AGENTS.md", ".pi/agent/AGENTS.MD", ".pi/agent/CLAUDE.md", ".pi/agent/CLAUDE.MD", ".pi/agent/SYSTEM.md", ".pi/agent/APPEND_SYSTEM.md", ".pi/SYSTEM.md", ".pi/AGENTS.md", "AGENTS.md", "CLAUDE.md"}

// oddMarked are the texts of odd below a directory, each with a mark.
func oddMarked(dir string) map[string]string {
	files := map[string]string{}
	for id, text := range odd() {
		text = strings.ReplaceAll(text, "$", "")
		for _, marked := range [][2]string{{"name: " + id, "name: $"}, {"Of " + id, "Of $ " + id}, {"D.", "D $."}, {"words", "words $"}} {
			if strings.Contains(text, marked[0]) {
				text = strings.Replace(text, marked[0], marked[1], 1)
				break
			}
		}
		files[path.Join(dir, id, "SKILL.md")] = text
	}
	return files
}

var piTrees = []tree{
	{name: "pi: all names", files: textsAt(piNames...)},
	{name: "pi: started below", start: "sub/deep", files: joined(textsAt(piNames...), under("sub", textsAt(piNames...)), under("sub/deep", textsAt(piNames...)))},
	{name: "pi: CLAUDE.MD alone", files: textsAt("CLAUDE.MD")},
	{name: "pi: names differ by directory", start: "sub/deep", files: textsAt("CLAUDE.md", "sub/AGENTS.MD", "sub/CLAUDE.md", "sub/deep/CLAUDE.MD", "sub/deep/CLAUDE.md")},
	{name: "pi: above the project", start: "sub", files: textsAt("../AGENTS.md", "CLAUDE.md", "sub/AGENTS.md", "../.pi/SYSTEM.md")},
	{name: "pi: the user's names", home: textsAt(piHome...), files: textsAt("AGENTS.md")},
	{name: "pi: the user's CLAUDE.md", home: textsAt(".pi/agent/CLAUDE.md", ".pi/agent/APPEND_SYSTEM.md"), files: textsAt("AGENTS.md")},
	{name: "pi: system prompts of both", home: textsAt(".pi/agent/SYSTEM.md", ".pi/agent/APPEND_SYSTEM.md"), files: textsAt(".pi/SYSTEM.md", "AGENTS.md")},
	{name: "pi: additions of both", home: textsAt(".pi/agent/SYSTEM.md", ".pi/agent/APPEND_SYSTEM.md"), files: textsAt(".pi/APPEND_SYSTEM.md", "AGENTS.md")},
	{name: "pi: blank texts of the user", home: map[string]string{".pi/agent/AGENTS.md": "", ".pi/agent/CLAUDE.md": "$\n", ".pi/agent/SYSTEM.md": "$\n", ".pi/agent/APPEND_SYSTEM.md": "$\n"}, files: map[string]string{".pi/SYSTEM.md": "", ".pi/APPEND_SYSTEM.md": "\n", "AGENTS.md": "$\n"}},
	{name: "pi: blank and white", start: "sub", files: map[string]string{"AGENTS.md": "", "CLAUDE.md": "$\n", "sub/AGENTS.md": " \n", "sub/CLAUDE.md": "$\n"}},
	{name: "pi: a directory has the name", start: "sub", files: map[string]string{"AGENTS.md/x": "x", "CLAUDE.md": "$\n", "sub/.pi/SYSTEM.md": "-> nowhere", "sub/AGENTS.md": "-> nowhere", "sub/CLAUDE.md": "$\n"}},
	{name: "pi: home above", start: "sub", inHome: true, home: joined(textsAt(piHome...), map[string]string{".agents/skills/one/SKILL.md": named("one"), ".pi/skills/two/SKILL.md": named("two"), ".pi/agent/skills/three/SKILL.md": named("three")}), files: joined(textsAt("AGENTS.md"), map[string]string{".agents/skills/one/SKILL.md": named("one")})},
	{name: "pi: home above, no git", start: "sub", inHome: true, noGit: true, home: map[string]string{".agents/skills/one/SKILL.md": named("one"), ".agents/skills/zero/SKILL.md": named("zero"), ".pi/skills/two/SKILL.md": named("two"), ".pi/agent/skills/three/SKILL.md": named("three")}, files: map[string]string{".agents/skills/four/SKILL.md": named("four"), "sub/.pi/skills/one/SKILL.md": named("one")}},
	{name: "pi: skills that are files", files: map[string]string{".pi/skills/a.md": named("a"), ".pi/skills/b.MD": named("b"), ".pi/skills/c.txt": named("c"), ".pi/skills/.d.md": named("d"), ".pi/skills/noname.md": "---\ndescription: Is $.\n---\n", ".pi/skills/group/e.md": named("e"), ".agents/skills/f.md": named("f"), ".pi/skills/b/SKILL.md": named("b"), ".pi/skills/lk.md": "-> ../../docs/g.md", "docs/g.md": named("g")}, home: map[string]string{".pi/agent/skills/u.md": named("u"), ".agents/skills/v.md": named("v"), ".pi/agent/skills/sub/SKILL.md": named("subskill")}},
	{name: "pi: equal names of a file and a directory", files: map[string]string{".pi/skills/b/SKILL.md": named("x"), ".pi/skills/a.md": named("x"), ".pi/skills/c/SKILL.md": named("y"), ".pi/skills/d.md": named("y")}},
	{name: "pi: a skill at the place itself", files: map[string]string{".pi/skills/SKILL.md": named("top"), ".pi/skills/a.md": named("a"), ".pi/skills/b/SKILL.md": named("b"), ".agents/skills/SKILL.md": "---\ndescription: Is $.\n---\n", ".agents/skills/c/SKILL.md": named("c")}},
	{name: "pi: skills in skills", files: map[string]string{".pi/skills/a/SKILL.md": named("a"), ".pi/skills/a/b/SKILL.md": named("b"), ".agents/skills/g/h/i/j/k/l/m/n/SKILL.md": named("deep"), ".agents/skills/g/h/SKILL.md": "no front matter", ".agents/skills/o/p/SKILL.md": named("p"), ".agents/skills/o/q/SKILL.md": named("q")}},
	{name: "pi: hidden and dependencies", files: map[string]string{".pi/skills/.a/SKILL.md": named("a"), ".pi/skills/node_modules/b/SKILL.md": named("b"), ".agents/skills/c/.d/SKILL.md": named("d"), ".agents/skills/node_modules/SKILL.md": named("e"), ".agents/skills/f/node_modules/g/SKILL.md": named("g")}},
	{name: "pi: order of skills", start: "sub", files: map[string]string{".agents/skills/b/SKILL.md": named("b"), ".agents/skills/a-b/SKILL.md": named("ab"), ".agents/skills/a/x/SKILL.md": named("ax"), ".agents/skills/A/SKILL.md": named("upper"), ".agents/skills/é/SKILL.md": named("e"), "sub/.agents/skills/z/SKILL.md": named("z"), "sub/.pi/skills/y/SKILL.md": named("y"), "sub/.pi/skills/x.md": named("x"), "sub/.pi/skills/x-a/SKILL.md": named("xa"), ".pi/skills/no/SKILL.md": named("no")}, home: map[string]string{".pi/agent/skills/c/SKILL.md": named("c"), ".agents/skills/0/SKILL.md": named("zero"), ".pi/agent/skills/d.md": named("d")}},
	{name: "pi: equal names in order", start: "sub", files: map[string]string{".agents/skills/one/SKILL.md": named("one"), "sub/.agents/skills/one/SKILL.md": named("one"), "sub/.agents/skills/x/SKILL.md": named("two"), "sub/.pi/skills/two/SKILL.md": named("two"), ".agents/skills/m/SKILL.md": "---\nname: m\ndescription: Is $.\n---\n", "sub/.agents/skills/m/SKILL.md": "---\nname: m\ndescription: Is $.\ndisable-model-invocation: true\n---\n"}, home: map[string]string{".agents/skills/one/SKILL.md": named("one"), ".pi/agent/skills/one/SKILL.md": named("one"), ".pi/agent/skills/three/SKILL.md": named("three"), ".agents/skills/three/SKILL.md": named("three")}},
	{name: "pi: one skill under several names", files: map[string]string{"shared/one/SKILL.md": "---\ndescription: Is $.\n---\n", ".pi/skills/a": "-> ../../shared/one", ".agents/skills/b": "-> ../../shared/one", ".agents/skills/c/SKILL.md": "-> ../../../shared/one/SKILL.md", ".agents/skills/d": "-> nowhere", ".pi/skills/e.md": "-> ../../shared/one/SKILL.md"}},
	{name: "pi: places that are links", files: map[string]string{".pi/skills": "-> ../.agents/skills", ".agents/skills/a/SKILL.md": named("a"), ".agents/skills/b.md": named("b")}},
	{name: "pi: front matter", files: oddMarked(".agents/skills")},
	{name: "pi: front matter in files", files: oddMarked(".pi/skills")},
	{name: "pi: flags", files: map[string]string{
		".pi/skills/a/SKILL.md": "---\nname: a\ndescription: Is $.\ndisable-model-invocation: True\n---\n", ".pi/skills/b/SKILL.md": "---\nname: b\ndescription: Is $.\ndisable-model-invocation: \"true\"\n---\n",
		".pi/skills/c/SKILL.md": "---\nname: c\ndescription: Is $.\ndisable-model-invocation: yes\n---\n", ".pi/skills/d/SKILL.md": "---\nname: d\ndescription: Is $.\ndisable-model-invocation: 1\n---\n",
		".pi/skills/e/SKILL.md": "---\nname: e\ndescription: Is $.\npaths: src/**\n---\n", ".pi/skills/f/SKILL.md": "---\nname: f\ndescription: Is $.\nmode: manual\nwhen_to_use: $2\n---\n",
		".pi/skills/g/SKILL.md": "---\nname: 0\ndescription: Is $.\n---\n", ".pi/skills/h/SKILL.md": "---\nname: false\ndescription: Is $.\n---\n", ".pi/skills/i/SKILL.md": "---\nname: -0.0\ndescription: Is $.\n---\n",
		".pi/skills/j/SKILL.md": "---\nname: .nan\ndescription: Is $.\n---\n", ".pi/skills/k/SKILL.md": "---\nname: ''\ndescription: Is $.\n---\n", ".pi/skills/l/SKILL.md": "---\nname: ' '\ndescription: Is $.\n---\n",
		".pi/skills/m/SKILL.md": "---\nname: 012\ndescription: Is $.\n---\n", ".pi/skills/n/SKILL.md": "---\nname: 1_000\ndescription: Is $.\n---\n", ".pi/skills/o/SKILL.md": "---\nname: 0b11\ndescription: Is $.\n---\n",
		".pi/skills/p/SKILL.md": "---\nname: 1:30\ndescription: Is $.\n---\n", ".pi/skills/q/SKILL.md": "---\nname: !!str 12\ndescription: Is $.\n---\n", ".pi/skills/r/SKILL.md": "---\nname: &x anchored\ndescription: *x\nother: $\n---\n",
		".pi/skills/s/SKILL.md": "---\n? name\n: s\ndescription: Is $.\n---\n", ".pi/skills/t/SKILL.md": "--- # comment\nname: t\ndescription: Is $.\n---\n", ".pi/skills/u/SKILL.md": "--- {name: u, description: Is $}\n---\n",
		".pi/skills/v/SKILL.md": "---\n%YAML 1.1\n---\nname: v\ndescription: Is $.\n---\n", ".pi/skills/w/SKILL.md": "---\nname: w\ndescription: Is $.\n...\nmore: x\n---\n", ".pi/skills/x/SKILL.md": "---\n\nname: x\n\n# c\ndescription: Is $.\n\n---\n",
		".pi/skills/y/SKILL.md": "---\n  name: y\n  description: Is $.\n---\n", ".pi/skills/z/SKILL.md": "---\nname: z\n description: Is $.\n---\n",
	}},
	{name: "pi: long names and descriptions", files: map[string]string{".pi/skills/a/SKILL.md": head(strings.Repeat("n", 90), "$1 "+strings.Repeat("word ", 500)+"$2"), ".pi/skills/b/SKILL.md": head("b", "<$1> & \"$2\" 'x'")}},
	{name: "pi: many skills", files: numberedMarked(150)},
	{name: "pi: prompts", files: map[string]string{".pi/prompts/a.md": named("a"), ".pi/prompts/b/c.md": named("c")}, home: map[string]string{".pi/agent/prompts/a.md": named("a"), ".pi/agent/prompts/d.md": named("d")}},
	{name: "pi: settings and extensions beside", files: map[string]string{".pi/extensions/x.md": "$\n", ".pi/themes/x.json": "{}", ".pi/README.md": "$\n", "AGENTS.md": "$\n", ".pi/settings.json": "{}"}},
	{name: "pi: reads a file", reads: "sub/deep/x.txt", files: joined(textsAt("AGENTS.md"), under("sub", textsAt(piNames...)), under("sub/deep", textsAt(piNames...)), map[string]string{"sub/deep/x.txt": "x", "sub/.agents/skills/a/SKILL.md": named("a"), "sub/.pi/skills/b/SKILL.md": named("b")})},
	{name: "pi: another directory of the user", variables: map[string]string{"PI_CODING_AGENT_DIR": "elsewhere/pi"}, files: textsAt("AGENTS.md"), home: joined(textsAt("elsewhere/pi/CLAUDE.md", "elsewhere/pi/APPEND_SYSTEM.md", ".pi/agent/AGENTS.md", ".pi/agent/SYSTEM.md"), map[string]string{"elsewhere/pi/skills/a/SKILL.md": named("a"), "elsewhere/pi/skills/b.md": named("b"), ".pi/agent/skills/c/SKILL.md": named("c"), ".agents/skills/d/SKILL.md": named("d")})},
	{name: "pi: ignore files among skills", files: map[string]string{".agents/skills/.gitignore": "b/\n/c/SKILL.md\n", ".agents/skills/a/SKILL.md": named("a"), ".agents/skills/b/SKILL.md": named("b"), ".agents/skills/c/SKILL.md": named("c"), ".gitignore": "a\n.agents\n"}},
	{name: "pi: no git, skills above", start: "sub/deep", noGit: true, files: map[string]string{"../.agents/skills/o/SKILL.md": named("o"), ".agents/skills/a/SKILL.md": named("a"), "sub/.agents/skills/b/SKILL.md": named("b"), ".pi/skills/c/SKILL.md": named("c"), "sub/deep/.pi/skills/d/SKILL.md": named("d")}},
	{name: "pi: git, skills above", start: "sub/deep", files: map[string]string{"../.agents/skills/o/SKILL.md": named("o"), ".agents/skills/a/SKILL.md": named("a"), "sub/.agents/skills/b/SKILL.md": named("b"), ".pi/skills/c/SKILL.md": named("c"), "sub/deep/.pi/skills/d/SKILL.md": named("d")}},
}

func numberedMarked(n int) map[string]string {
	files := map[string]string{}
	for i := range n {
		files[path.Join(".agents/skills", "s"+strings.Repeat("x", i%5)+string(rune('a'+i%26))+string(rune('a'+i/26)), "SKILL.md")] = head("s-"+string(rune('a'+i%26))+string(rune('a'+i/26)), "Is $. "+strings.Repeat("Long words. ", 30))
	}
	return files
}

// randomPi makes a tree of the places of Pi.
func randomPi(seed uint64) *tree {
	r := testenv.RandOf(seed, 39)
	tr := &tree{start: pick(r, "", "sub", "sub/deep"), noGit: r.IntN(4) == 0, inHome: r.IntN(5) == 0, files: map[string]string{}, home: map[string]string{}}
	text := func() string {
		return pick(r, "Rule $.\n", "Rule $.\n", "Rule $.\n", "", " \n", "---\na: b\n---\n$\n", "<!-- $1 --> $2\n", "\ufeff$\n", "$\r\n")
	}
	heads := odd()
	ids := sortedKeys(heads)
	skill := func() string {
		name := pick(r, "one", "two", "three", "four", "five", "six", "seven")
		switch r.IntN(8) {
		case 0:
			return "---\ndescription: Is $.\n---\n"
		case 1:
			return "---\nname: " + name + "\ndescription: Is $.\ndisable-model-invocation: true\n---\n"
		case 2:
			id := pick(r, ids...)
			return strings.Replace(strings.ReplaceAll(heads[id], "$", ""), "name: "+id, "name: $", 1)
		case 3:
			return pick(r, "$\n", "", "---\nname: "+name+"\n---\n$\n", "---\nname: "+name+"\ndescription: a: $\n---\n")
		}
		return named(name)
	}
	place := func(files map[string]string, name, text string) {
		for other := range files {
			if other == name || strings.HasPrefix(name, other+"/") || strings.HasPrefix(other, name+"/") {
				return
			}
		}
		files[name] = text
	}
	skills := func(files map[string]string, most int, dirs ...string) {
		for range r.IntN(most + 1) {
			dir := pick(r, dirs...)
			name := pick(r, "one", "two", "three", "four", "Five", ".six", "a-b", "a")
			switch r.IntN(10) {
			case 0:
				place(files, path.Join(dir, name+".md"), skill())
			case 1:
				place(files, path.Join(dir, pick(r, "group", "a", "node_modules"), name, "SKILL.md"), skill())
			case 2:
				place(files, path.Join(dir, name, pick(r, "SKILL.md", "skill.md", "README.md")), skill())
			case 3:
				if r.IntN(3) == 0 {
					place(files, path.Join(dir, "SKILL.md"), skill())
				}
			default:
				place(files, path.Join(dir, name, "SKILL.md"), skill())
			}
		}
	}
	for _, dir := range []string{"..", "", "sub", "sub/deep"} {
		for range r.IntN(4) {
			place(tr.files, path.Join(dir, pick(r, piNames...)), text())
		}
		skills(tr.files, 5, path.Join(dir, ".pi/skills"), path.Join(dir, ".agents/skills"), path.Join(dir, ".agents/skills"))
	}
	if r.IntN(2) == 0 {
		for range r.IntN(5) {
			place(tr.home, pick(r, piHome...), text())
		}
		skills(tr.home, 6, ".pi/agent/skills", ".agents/skills", ".pi/skills")
	}
	if r.IntN(4) == 0 {
		place(tr.files, "shared/sk/SKILL.md", skill())
		place(tr.files, path.Join(pick(r, ".pi/skills", ".agents/skills"), "lk"), "-> ../../shared/sk")
		place(tr.files, path.Join(".agents/skills", pick(r, "one", "two")), "-> ../../shared/sk")
	}
	if r.IntN(5) == 0 {
		place(tr.files, "sub/AGENTS.md", "-> ../CLAUDE.md")
	}
	return tr
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
