package clients_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"waymark/abi"
	"waymark/test/testenv"
)

var geminiRunner = runner{
	id: "gemini", pkg: "@google/gemini-cli", pinned: "npm-gemini", seeds: 10,
	command: func(t *testing.T, modules string, home user) []string {
		t.Helper()
		settle(t, filepath.Join(home.dir, ".gemini/settings.json"), map[string]any{
			"security": map[string]any{"auth": map[string]any{"selectedType": "gemini-api-key"}}, "privacy": map[string]any{"usageStatisticsEnabled": false},
		})
		return []string{"node", filepath.Join(modules, "@google/gemini-cli/bundle/gemini.js"), "-p", "hello", "-m", "gemini-2.5-pro"}
	},
	env:       []string{"GEMINI_API_KEY=none", "GOOGLE_GEMINI_BASE_URL=http://" + modelAt, "GEMINI_CLI_TRUST_WORKSPACE=true", "GEMINI_CLI_NO_RELAUNCH=true"},
	read:      func(file string) toolCall { return toolCall{"read_file", map[string]string{"file_path": file}} },
	unordered: []abi.Kind{abi.KindSkill, abi.KindSubagent}, // of one place: as the file system lists them
	trees:     geminiTrees,
	random:    randomGemini,
}

// settle adds settings to those of a tree.
func settle(t *testing.T, file string, more map[string]any) {
	t.Helper()
	settings := map[string]any{}
	if text, err := os.ReadFile(file); err == nil {
		if err := json.Unmarshal(text, &settings); err != nil {
			t.Fatal(err)
		}
	}
	maps.Copy(settings, more)
	put(t, file, jsonOf(settings))
}

// wordImport and wordText are texts of the random trees of Gemini CLI and Qwen Code, which have their imports from the
// same source.
func wordImport(r *rand.Rand) string {
	return pick(r, "", "", "", "@docs/x.md", "@./docs/y.md", "@../docs/x.md", "@GEMINI.md", "@sub/GEMINI.md", "@QWEN.md", "`@docs/x.md`", "``` @docs/x.md\n```\n", "it`s @docs/y.md",
		"<!-- @docs/x.md -->", "(@docs/x.md)", "@docs/x.md.", "@nope.md", "@docs", "@../../out.md", "@~/x.md", "@docs/link.md", "@AGENTS.md", "    @docs/y.md", "@docs/x.md @docs/y.md",
		"@docs/X.md", "**@docs/x.md**", "@e/f.txt")
}

func wordText(r *rand.Rand) string {
	return pick(r, "$", "$ ", "$\n", "\ufeff$", "---\na: b\n---\n$", "<!-- $ -->", "", "  \n\t", "$\r\nmore") + " " + wordImport(r) + " " + wordImport(r)
}

// oddHead is a skill or a subagent, with front matter of all kinds.
func oddHead(r *rand.Rand, fields ...string) string {
	body := pick(r, "body\n", "", "\n\n text\n")
	if r.IntN(12) == 0 {
		return body
	}
	var lines []string
	name := fmt.Sprint("n", r.IntN(1_000_000))
	if r.IntN(2) == 0 {
		name = pick(r, "n1", "n2", "N1", "n-3", "with space", "a:b", "a/b", `"q"`, "12", "true", "", "-", "it's", "@x", "[x]")
	}
	if name != "-" {
		lines = append(lines, "name: "+name)
	}
	if r.IntN(14) > 0 {
		lines = append(lines, "description: "+pick(r, "$", "$", "$", "$ x: y", "use @me $", "it's $", `"$"`, "[$]", ">-\n  folded $\n  text", "|\n  two\n  $", "12", "null", "", "*$", "- $", "$ #c",
			"a #b $", "{$}", "a\n  b $", "'$'", "!x $", "& $", "% $", "`$`", "$: x"))
	}
	for _, field := range fields {
		if r.IntN(20) == 0 {
			lines = append(lines, field)
		}
	}
	if r.IntN(5) == 0 {
		r.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	}
	text := "---\n" + strings.Join(lines, "\n") + "\n" + pick(r, "---\n", "---\n", "---\n", "---\n", "---\n", "---\n", "--- \n", "---", "----\n", "") + body
	switch r.IntN(25) {
	case 0, 1:
		text = strings.ReplaceAll(text, "\n", "\r\n")
	case 2:
		text = "\ufeff" + text
	case 3:
		text = "\n" + text
	}
	return text
}

// sprinkle puts up to most files into a directory of a tree.
func sprinkle(r *rand.Rand, files map[string]string, most int, dir, names string, text func() string) {
	for range r.IntN(most + 1) {
		sow(files, path.Join(dir, pick(r, strings.Fields(names)...)), text())
	}
}

// sow puts a file where there is none, and none in its way.
func sow(files map[string]string, name, text string) {
	name = strings.TrimPrefix(name, "/")
	for other := range files {
		if other == name || strings.HasPrefix(name, other+"/") || strings.HasPrefix(other, name+"/") {
			return
		}
	}
	files[name] = text
}

func randomGemini(seed uint64) *tree {
	r := testenv.RandOf(seed, 61)
	tr := &tree{start: pick(r, "", "", "sub", "sub/deep", "Upper"), noGit: r.IntN(4) == 0, inHome: r.IntN(7) == 0, files: map[string]string{}, home: map[string]string{}}
	if tr.noGit && r.IntN(3) == 0 {
		tr.files[pick(r, "sub/.git/HEAD", ".git")] = "gitdir: /nowhere\n"
	}
	text := func() string { return wordText(r) }
	skill := func() string {
		return oddHead(r, "model: x", "color: red", "bad: [", "  odd: x", "metadata:\n  name: zz", "paths: x", "license: MIT")
	}
	agent := func() string {
		return oddHead(r, "tools: [read_file]", "model: x", "color: red", "bad: [", "max_turns: 3", "kind: local", "temperature: 0.3", `tools: ["*"]`, "tools: read_file")
	}
	for _, dir := range []string{"", "sub", "sub/deep", "sub/below", "Upper"} {
		sprinkle(r, tr.files, 3, dir, "GEMINI.md GEMINI.md GEMINI.md AGENTS.md gemini.md .gemini/GEMINI.md CLAUDE.md CONTEXT.md", text)
		sprinkle(r, tr.files, 2, dir+"/docs", "x.md y.md X.md", text)
		sprinkle(r, tr.files, 2, dir+"/.gemini/skills", "s1/SKILL.md s2/SKILL.md S3/SKILL.md SKILL.md g/s5/SKILL.md .h/SKILL.md s1/skill.md", skill)
		sprinkle(r, tr.files, 2, dir+"/.agents/skills", "s1/SKILL.md t2/SKILL.md g/s5/SKILL.md", skill)
		sprinkle(r, tr.files, 1, dir+"/.gemini/agents", "a1.md a2.md", agent)
	}
	if r.IntN(2) == 0 {
		sprinkle(r, tr.home, 2, "", ".gemini/GEMINI.md .gemini/GEMINI.md GEMINI.md .gemini/AGENTS.md .gemini/docs/x.md .gemini/CONTEXT.md docs/x.md", text)
		sprinkle(r, tr.home, 3, ".gemini/skills", "s1/SKILL.md u1/SKILL.md u2/SKILL.md SKILL.md", skill)
		sprinkle(r, tr.home, 2, ".agents/skills", "s1/SKILL.md v1/SKILL.md", skill)
		sprinkle(r, tr.home, 3, ".gemini/agents", "a1.md u1.md _u2.md x/u3.md README.md", agent)
	}
	randomNames(r, tr, ".gemini/settings.json")
	randomLinks(r, tr, "GEMINI.md", ".gemini/skills", skill)
	return tr
}

// randomNames has settings name instruction files.
func randomNames(r *rand.Rand, tr *tree, file string) {
	names := func() string {
		return `{"context":{"fileName":` + pick(r, `"AGENTS.md"`, `["CONTEXT.md","AGENTS.md"]`, `["AGENTS.md","GEMINI.md","QWEN.md"]`, `"docs/x.md"`, "[]", `["Nope.md"]`) + "}}"
	}
	switch r.IntN(12) {
	case 0, 1:
		sow(tr.files, path.Join(tr.start, file), names())
	case 2:
		sow(tr.files, file, names())
	case 3:
		sow(tr.home, file, names())
	}
}

// randomLinks adds links, and sometimes a file to read.
func randomLinks(r *rand.Rand, tr *tree, name, skills string, skill func() string) {
	for _, link := range [][]string{
		{name, "AGENTS.md", "docs/x.md", "../out.md", "sub/" + name}, {"sub/" + name, "../" + name, "../docs/x.md", "deep/" + name, "../../out.md"},
		{"docs/link.md", "x.md", "../../out.md", "../" + name}, {".agents", path.Dir(skills)}, {".claude", path.Dir(skills)},
	} {
		if target := pick(r, link[1:]...); r.IntN(7) == 0 {
			sow(tr.files, link[0], "-> "+target)
		}
	}
	if r.IntN(10) == 0 {
		tr.files["shared/SKILL.md"] = skill()
		sow(tr.files, skills+"/lk", "-> ../../shared")
	}
	sow(tr.files, "../out.md", "$")
	sow(tr.files, "docs/x.md", "$")
	if dir := pick(r, "sub/below", "sub/deep", "sub", "Upper", "sub/below/more"); r.IntN(3) == 0 && (tr.start == "" || strings.HasPrefix(dir, tr.start+"/")) {
		sow(tr.files, dir+"/read.txt", "content\n")
		tr.reads = strings.TrimPrefix(strings.TrimPrefix(dir+"/read.txt", tr.start), "/")
	}
}

// elsewhere returns some of another coding agent's trees, with other names in paths and texts.
func elsewhere(trees []tree, use func(tr *tree) bool, names ...string) (list []tree) {
	in := func(files map[string]string) map[string]string {
		if files == nil {
			return nil
		}
		all, replacer := map[string]string{}, strings.NewReplacer(names...)
		for path, text := range files {
			all[replacer.Replace(path)] = replacer.Replace(text)
		}
		return all
	}
	for _, tr := range trees {
		if use(&tr) {
			tr.files, tr.home = in(tr.files), in(tr.home)
			list = append(list, tr)
		}
	}
	return list
}

// geminiTrees are the classes of what Gemini CLI reads.
var geminiTrees = []tree{
	{name: "top only", files: map[string]string{"GEMINI.md": "$\n"}},
	{name: "other names", files: map[string]string{"GEMINI.md": "$\n", "AGENTS.md": "$\n", "CLAUDE.md": "$\n", "gemini.md": "$\n", "Gemini.md": "$\n", ".gemini/GEMINI.md": "$\n", ".gemini/AGENTS.md": "$\n", "GEMINI.local.md": "$\n"}},
	{name: "walk", start: "a/b", files: map[string]string{"GEMINI.md": "$\n", "a/GEMINI.md": "$\n", "a/b/GEMINI.md": "$\n", "a/b/c/GEMINI.md": "$\n", "x/GEMINI.md": "$\n", "../GEMINI.md": "$\n"}},
	{name: "walk nogit", start: "a/b", noGit: true, files: map[string]string{"GEMINI.md": "$\n", "a/GEMINI.md": "$\n", "a/b/GEMINI.md": "$\n", "a/b/c/GEMINI.md": "$\n"}},
	{name: "inner git", start: "a/b", noGit: true, files: map[string]string{"GEMINI.md": "$\n", "a/GEMINI.md": "$\n", "a/b/GEMINI.md": "$\n", "a/.git/HEAD": "ref: refs/heads/main\n"}},
	{name: "git file", start: "a", noGit: true, files: map[string]string{"GEMINI.md": "$\n", "a/GEMINI.md": "$\n", ".git": "gitdir: /nowhere\n"}},
	{name: "sorted order", start: "A/b", files: map[string]string{"GEMINI.md": "$\n", "A/GEMINI.md": "$\n", "A/b/GEMINI.md": "$\n"}},
	{name: "user", files: map[string]string{"GEMINI.md": "$\n"}, home: map[string]string{".gemini/GEMINI.md": "$\n", "GEMINI.md": "$\n", ".agents/GEMINI.md": "$\n", ".gemini/AGENTS.md": "$\n"}},
	{name: "in home", inHome: true, files: map[string]string{"GEMINI.md": "$\n"}, home: map[string]string{".gemini/GEMINI.md": "$\n", "GEMINI.md": "$\n"}},
	{name: "in home nogit", noGit: true, inHome: true, files: map[string]string{"GEMINI.md": "$\n"}, home: map[string]string{".gemini/GEMINI.md": "$\n", "GEMINI.md": "$\n"}},
	{name: "blank", start: "a/b", files: map[string]string{"GEMINI.md": "", "a/GEMINI.md": " \n\t\n", "a/b/GEMINI.md": "\ufeff"}},
	{name: "bom crlf", start: "a", files: map[string]string{"GEMINI.md": "\ufeff$\r\ntext\r\n", "a/GEMINI.md": "<!-- c -->\n<!-- $ -->"}},
	{name: "front matter", files: map[string]string{"GEMINI.md": "---\na: b\n---\n$"}},
	{name: "linked file", start: "a", files: map[string]string{"GEMINI.md": "-> AGENTS.md", "AGENTS.md": "$\n", "a/GEMINI.md": "$\n"}},
	{name: "link out", files: map[string]string{"GEMINI.md": "-> ../out.md", "../out.md": "$\n"}},
	{name: "one file twice", start: "a", files: map[string]string{"GEMINI.md": "$\n", "a/GEMINI.md": "-> ../GEMINI.md"}},
	{name: "same text twice", start: "a", files: map[string]string{"GEMINI.md": "same $", "a/GEMINI.md": "same"}},
	{name: "broken link", files: map[string]string{"GEMINI.md": "-> nowhere"}},
	{name: "directory", start: "a", files: map[string]string{"GEMINI.md/x.md": "$\n", "a/GEMINI.md": "$\n"}},
	{name: "imports", files: map[string]string{"GEMINI.md": "$ @a.md @./b.md @d/c.md text @../w/e.md (@no.md) x@no.md @no.md, @f.txt @noext @h.png", "a.md": "$\n", "b.md": "$\n", "d/c.md": "$\n", "e.md": "$\n", "no.md": "$\n", "f.txt": "$\n", "noext": "$\n", "h.png": "$\n", "no.md,": "$\n"}},
	{name: "import chain", files: map[string]string{"GEMINI.md": "$ @1.md @i1.md", "1.md": "$\n", "i1.md": "$ @i2.md", "i2.md": "$ @i3.md", "i3.md": "$ @i4.md", "i4.md": "$ @i5.md", "i5.md": "$ @i6.md", "i6.md": "$ @i7.md", "i7.md": "$ @i8.md", "i8.md": "$\n"}},
	{name: "import cycle", files: map[string]string{"GEMINI.md": "$ @a.md", "a.md": "$ @GEMINI.md @b.md", "b.md": "$ @a.md"}},
	{name: "import self", files: map[string]string{"GEMINI.md": "$ @GEMINI.md"}},
	{name: "import twice", files: map[string]string{"GEMINI.md": "$ @a.md @b.md @a.md", "a.md": "$ @c.md", "b.md": "$ @c.md", "c.md": "$\n"}},
	{name: "import code", files: map[string]string{"GEMINI.md": "$ `@no.md` ``@no.md`` \n```\n@no.md\n```\n<!-- @a.md -->\n    @b.md\n~~~\n@c.md\n~~~\n", "no.md": "$\n", "a.md": "$\n", "b.md": "$\n", "c.md": "$\n"}},
	{name: "import lone ticks", files: map[string]string{"GEMINI.md": "$ it`s @no.md and\n\n that`s @a.md\n``` @no2.md ``\n @no3.md ```\n@b.md", "no.md": "$\n", "no2.md": "$\n", "no3.md": "$\n", "a.md": "$\n", "b.md": "$\n"}},
	{name: "import odd ticks", files: map[string]string{"GEMINI.md": "$ ```` @a.md ``\n @b.md", "a.md": "$\n", "b.md": "$\n"}},
	{name: "import from sub", start: "s", files: map[string]string{"s/GEMINI.md": "$ @../a.md @b.md", "a.md": "$\n", "s/b.md": "$\n"}},
	{name: "import nogit up", start: "s", noGit: true, files: map[string]string{"s/GEMINI.md": "$ @../a.md @b.md @d/c.md", "a.md": "$\n", "s/b.md": "$\n", "s/d/c.md": "$\n"}},
	{name: "import user git home", files: map[string]string{"a.md": "$\n"}, home: map[string]string{".git/HEAD": "x", ".gemini/GEMINI.md": "$ @x.md @../y.md @d/z.md", ".gemini/x.md": "$\n", "y.md": "$\n", ".gemini/d/z.md": "$\n"}},
	{name: "import links", files: map[string]string{"GEMINI.md": "$ @in.md @out.md", "in.md": "-> d/real.md", "d/real.md": "$ @n.md", "n.md": "$\n", "d/n.md": "$\n", "out.md": "-> ../out.md", "../out.md": "$\n"}},
	{name: "linked importer", start: "s", files: map[string]string{"s/GEMINI.md": "-> ../d/g.md", "d/g.md": "$ @n.md", "s/n.md": "$\n", "d/n.md": "$\n"}},
	{name: "import dir and missing", files: map[string]string{"GEMINI.md": "$ @d @nope.md @a.md", "d/x.md": "$\n", "a.md": "$\n"}},
	{name: "import inner repo", files: map[string]string{"GEMINI.md": "$ @sub/a.md", "sub/.git/HEAD": "x", "sub/a.md": "$ @../b.md", "b.md": "$\n"}},
	{name: "imported is context file", start: "s", files: map[string]string{"GEMINI.md": "$ @s/GEMINI.md", "s/GEMINI.md": "$\n"}},
	{name: "import blank importer", files: map[string]string{"GEMINI.md": "@a.md", "a.md": "$\n"}},
	{name: "import only blank", files: map[string]string{"GEMINI.md": "@a.md", "a.md": ""}},
	{name: "import mailto", files: map[string]string{"GEMINI.md": "$ me@x.com @media\n@scope/pkg @file://a.md @a.md\t@b.md", "a.md": "$\n", "b.md": "$\n", "scope/pkg": "$\n"}},
	{name: "import trailing", files: map[string]string{"GEMINI.md": "$ @a.md. @b.md) **@c.md** @d.md#x @e\\ f.md", "a.md": "$\n", "b.md": "$\n", "c.md": "$\n", "d.md": "$\n", "e f.md": "$\n", "a.md.": "$\n"}},
	{name: "fileName string", files: map[string]string{".gemini/settings.json": "{\"context\":{\"fileName\":\"AGENTS.md\"}}", "AGENTS.md": "$\n", "GEMINI.md": "$\n"}, home: map[string]string{".gemini/AGENTS.md": "$\n", ".gemini/GEMINI.md": "$\n"}},
	{name: "fileName list", start: "s", files: map[string]string{"s/.gemini/settings.json": "{\"context\":{\"fileName\":[\"X.md\",\"AGENTS.md\"]}}", "AGENTS.md": "$\n", "GEMINI.md": "$\n", "X.md": "$\n", "s/AGENTS.md": "$\n", "s/GEMINI.md": "$\n", "s/X.md": "$\n"}, home: map[string]string{".gemini/AGENTS.md": "$\n", ".gemini/GEMINI.md": "$\n", ".gemini/X.md": "$\n"}},
	{name: "fileName top not start", start: "s", files: map[string]string{".gemini/settings.json": "{\"context\":{\"fileName\":[\"X.md\"]}}", "GEMINI.md": "$\n", "X.md": "$\n", "s/GEMINI.md": "$\n", "s/X.md": "$\n"}},
	{name: "fileName user", files: map[string]string{"AGENTS.md": "$\n", "GEMINI.md": "$\n"}, home: map[string]string{".gemini/settings.json": "{\"context\":{\"fileName\":\"AGENTS.md\"}}", ".gemini/AGENTS.md": "$\n", ".gemini/GEMINI.md": "$\n"}},
	{name: "fileName both", files: map[string]string{".gemini/settings.json": "{\"context\":{\"fileName\":[\"B.md\"]}}", "A.md": "$\n", "B.md": "$\n", "GEMINI.md": "$\n"}, home: map[string]string{".gemini/settings.json": "{\"context\":{\"fileName\":[\"A.md\"]}}", ".gemini/A.md": "$\n", ".gemini/GEMINI.md": "$\n", ".gemini/B.md": "$\n"}},
	{name: "fileName comments", files: map[string]string{".gemini/settings.json": "{\n// c\n\"context\":{\"fileName\":\"AGENTS.md\" /* x */}\n}", "AGENTS.md": "$\n", "GEMINI.md": "$\n"}},
	{name: "fileName old", files: map[string]string{".gemini/settings.json": "{\"contextFileName\":\"AGENTS.md\"}", "AGENTS.md": "$\n", "GEMINI.md": "$\n"}},
	{name: "fileName empty", files: map[string]string{".gemini/settings.json": "{\"context\":{\"fileName\":[]}}", "AGENTS.md": "$\n", "GEMINI.md": "$\n"}},
	{name: "fileName empty string", files: map[string]string{".gemini/settings.json": "{\"context\":{\"fileName\":\"\"}}", "AGENTS.md": "$\n", "GEMINI.md": "$\n"}},
	{name: "two names one file", start: "s", files: map[string]string{"s/.gemini/settings.json": "{\"context\":{\"fileName\":[\"A.md\",\"B.md\"]}}", "A.md": "$\n", "B.md": "-> A.md", "s/B.md": "$\n", "s/A.md": "-> B.md"}},
	{name: "skills places", start: "s", files: map[string]string{".gemini/skills/k00/SKILL.md": "---\nname: k00\ndescription: $\n---\nbody\n", ".agents/skills/k01/SKILL.md": "---\nname: k01\ndescription: $\n---\nbody\n", ".claude/skills/k02/SKILL.md": "---\nname: k02\ndescription: $\n---\nbody\n", ".qwen/skills/k03/SKILL.md": "---\nname: k03\ndescription: $\n---\nbody\n", "s/.gemini/skills/k10/SKILL.md": "---\nname: k10\ndescription: $\n---\nbody\n", "s/.agents/skills/k11/SKILL.md": "---\nname: k11\ndescription: $\n---\nbody\n", "s/.claude/skills/k12/SKILL.md": "---\nname: k12\ndescription: $\n---\nbody\n", "s/.qwen/skills/k13/SKILL.md": "---\nname: k13\ndescription: $\n---\nbody\n", "s/t/.gemini/skills/k20/SKILL.md": "---\nname: k20\ndescription: $\n---\nbody\n", "s/t/.agents/skills/k21/SKILL.md": "---\nname: k21\ndescription: $\n---\nbody\n", "s/t/.claude/skills/k22/SKILL.md": "---\nname: k22\ndescription: $\n---\nbody\n", "s/t/.qwen/skills/k23/SKILL.md": "---\nname: k23\ndescription: $\n---\nbody\n"}, home: map[string]string{".gemini/skills/u0/SKILL.md": "---\nname: u0\ndescription: $\n---\nbody\n", ".agents/skills/u1/SKILL.md": "---\nname: u1\ndescription: $\n---\nbody\n", ".claude/skills/u2/SKILL.md": "---\nname: u2\ndescription: $\n---\nbody\n", ".config/gemini/skills/u3/SKILL.md": "---\nname: u3\ndescription: $\n---\nbody\n"}},
	{name: "skills depth", files: map[string]string{".gemini/skills/SKILL.md": "---\nname: a0\ndescription: $\n---\nbody\n", ".gemini/skills/a/SKILL.md": "---\nname: a1\ndescription: $\n---\nbody\n", ".gemini/skills/a/b/SKILL.md": "---\nname: a2\ndescription: $\n---\nbody\n", ".gemini/skills/.h/SKILL.md": "---\nname: hid\ndescription: $\n---\nbody\n", ".gemini/skills/node_modules/SKILL.md": "---\nname: nm\ndescription: $\n---\nbody\n", ".gemini/skills/c/skill.md": "---\nname: low\ndescription: $\n---\nbody\n"}},
	{name: "skills equal names", files: map[string]string{".gemini/skills/a/SKILL.md": "---\nname: n\ndescription: $\n---\nbody\n", ".agents/skills/a/SKILL.md": "---\nname: n\ndescription: $\n---\nbody\n", ".gemini/skills/b/SKILL.md": "---\nname: m\ndescription: $\n---\nbody\n"}, home: map[string]string{".gemini/skills/a/SKILL.md": "---\nname: n\ndescription: $\n---\nbody\n", ".agents/skills/a/SKILL.md": "---\nname: n\ndescription: $\n---\nbody\n", ".agents/skills/b/SKILL.md": "---\nname: m\ndescription: $\n---\nbody\n"}},
	{name: "skills equal name case", files: map[string]string{".gemini/skills/a/SKILL.md": "---\nname: n\ndescription: $\n---\nbody\n", ".agents/skills/a/SKILL.md": "---\nname: N\ndescription: $\n---\nbody\n"}},
	{name: "skills sanitized", files: map[string]string{".gemini/skills/a/SKILL.md": "---\nname: \"a:b\"\ndescription: $\n---\nbody\n", ".agents/skills/a/SKILL.md": "---\nname: a-b\ndescription: $\n---\nbody\n", ".gemini/skills/c/SKILL.md": "---\nname: c/d\ndescription: $\n---\nbody\n"}},
	{name: "skills missing", files: map[string]string{".gemini/skills/a/SKILL.md": "---\nname: a\n---\n$", ".gemini/skills/b/SKILL.md": "---\ndescription: $\n---\nx", ".gemini/skills/c/SKILL.md": "$\n", ".gemini/skills/d/SKILL.md": "", ".gemini/skills/e/SKILL.md": "---\nname:\ndescription: $\n---\n", ".gemini/skills/f/SKILL.md": "---\nname: f$\ndescription:\n---\n"}},
	{name: "skills yaml", files: map[string]string{".gemini/skills/a/SKILL.md": "---\nname: a\ndescription: x: y: $\n---\nbody\n", ".gemini/skills/b/SKILL.md": "---\nname: b\ndescription: >-\n  folded $\n  more\n---\nbody\n", ".gemini/skills/c/SKILL.md": "---\nname: 3\ndescription: $\n---\nbody\n", ".gemini/skills/d/SKILL.md": "---\nname: d\ndescription: [$]\n---\nbody\n", ".gemini/skills/e/SKILL.md": "---\nname: e\ndescription: @$\n---\nbody\n", ".gemini/skills/f/SKILL.md": "---\nname: f\ndescription: \"$\n---\nbody\n", ".gemini/skills/g/SKILL.md": "---\nname: g\ndescription: $ #c\n---\nbody\n", ".gemini/skills/h/SKILL.md": "---\nname: h\ndescription: a #b $\n---\nbody\n", ".gemini/skills/i/SKILL.md": "---\nname: i\ndescription: \"quoted $\"\n---\nbody\n", ".gemini/skills/j/SKILL.md": "---\nname: true\ndescription: $\n---\nbody\n", ".gemini/skills/k/SKILL.md": "---\nname: k\ndescription: $\nbad: [\n---\nbody\n", ".gemini/skills/l/SKILL.md": "---\nname: l\ndescription: $\nmetadata:\n  name: other\n  description: second\n---\nbody\n", ".gemini/skills/m/SKILL.md": "---\nname: m\ndescription: $\nx: y: z\nmetadata:\n  name: other\n---\nbody\n", ".gemini/skills/n/SKILL.md": "---\nname: n\ndescription: x: y: 1\n  $ more\n---\nbody\n"}},
	{name: "skills fences", files: map[string]string{".gemini/skills/a/SKILL.md": "---\r\nname: a\r\ndescription: $\r\n---\r\nb", ".gemini/skills/b/SKILL.md": "\ufeff---\nname: b\ndescription: $\n---\nbody\n", ".gemini/skills/c/SKILL.md": "--- \nname: c\ndescription: $\n---\n", ".gemini/skills/d/SKILL.md": "---\nname: d\ndescription: $\n---x", ".gemini/skills/e/SKILL.md": "---\nname: e\ndescription: $\n", ".gemini/skills/f/SKILL.md": "\n---\nname: f\ndescription: $\n---\nbody\n", ".gemini/skills/g/SKILL.md": "---\nname: g\ndescription: $\n----\n", ".gemini/skills/h/SKILL.md": "---\nname: h\ndescription: $\n---", ".gemini/skills/i/SKILL.md": "----\nname: i\ndescription: $\n---\n", ".gemini/skills/j/SKILL.md": "---yaml\nname: j\ndescription: $\n---\n", ".gemini/skills/k/SKILL.md": "---\nname: k\ndescription: a --- b $\n---\n"}},
	{name: "skills links", files: map[string]string{".gemini/skills/a": "-> ../../sh/a", "sh/a/SKILL.md": "---\nname: a\ndescription: $\n---\nbody\n", ".gemini/skills/b/SKILL.md": "-> ../../../sh/a/SKILL.md", ".agents/skills": "-> ../ag", "ag/c/SKILL.md": "---\nname: c\ndescription: $\n---\nbody\n", "../o/x/SKILL.md": "---\nname: x\ndescription: $\n---\nbody\n", ".gemini/skills/x": "-> ../../../o/x"}},
	{name: "skills long", files: map[string]string{".gemini/skills/a/SKILL.md": "---\nname: a\ndescription: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx $\n---\nbody\n", ".gemini/skills/b/SKILL.md": "---\nname: nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn\ndescription: $\n---\nbody\n"}},
	{name: "skill of builtin name", files: map[string]string{".gemini/skills/a/SKILL.md": "---\nname: skill-creator\ndescription: $\n---\nbody\n"}},
	{name: "agents", files: map[string]string{".gemini/agents/p.md": "---\nname: p\ndescription: $\n---\nyou are\n", ".agents/agents/q.md": "---\nname: q\ndescription: $\n---\nyou are\n"}, home: map[string]string{".gemini/agents/u.md": "---\nname: u\ndescription: $\n---\nyou are\n", ".gemini/agents/x/v.md": "---\nname: v\ndescription: $\n---\nyou are\n", ".agents/agents/w.md": "---\nname: w\ndescription: $\n---\nyou are\n", ".gemini/agents/_h.md": "---\nname: h\ndescription: $\n---\nyou are\n", ".gemini/agents/t.txt": "---\nname: t\ndescription: $\n---\nyou are\n", ".gemini/agents/U.MD": "---\nname: um\ndescription: $\n---\nyou are\n"}},
	{name: "agents validity", files: map[string]string{}, home: map[string]string{".gemini/agents/a.md": "---\nname: A\ndescription: $\n---\nyou are\n", ".gemini/agents/b.md": "---\nname: b c\ndescription: $\n---\nyou are\n", ".gemini/agents/c.md": "---\nname: c\ndescription: $\nextra: 1\n---\nyou are\n", ".gemini/agents/d.md": "---\nname: d\ndescription: $\ntools: [read_file]\n---\nyou are\n", ".gemini/agents/e.md": "---\nname: e\ndescription: $\ntools: [nope]\n---\nyou are\n", ".gemini/agents/f.md": "---\ndescription: $\n---\nx", ".gemini/agents/g.md": "---\nname: g\n---\n$", ".gemini/agents/i.md": "---\nname: i\ndescription: $\nkind: local\nmodel: inherit\ntemperature: 0.5\nmax_turns: 3\ntimeout_mins: 5\ndisplay_name: I\n---\nyou are\n", ".gemini/agents/j.md": "---\nname: j\ndescription: $\nmax_turns: x\n---\nyou are\n", ".gemini/agents/k.md": "---\nname: k\ndescription: $\ntools: [\"*\"]\n---\nyou are\n", ".gemini/agents/l.md": "---\nname: l\ndescription: x: y $\n---\nyou are\n", ".gemini/agents/m.md": "\ufeff---\nname: m\ndescription: $\n---\nyou are\n", ".gemini/agents/n.md": "---\r\nname: n\r\ndescription: $\r\n---\r\nyou are\r\n", ".gemini/agents/o.md": "---\nname: generalist\ndescription: $\n---\nyou are\n", ".gemini/agents/r.md": "---\nname: 3\ndescription: $\n---\nyou are\n", ".gemini/agents/s.md": "---\nname: s\ndescription: $\ntools: read_file\n---\nyou are\n"}},
	{name: "agents dup", files: map[string]string{}, home: map[string]string{".gemini/agents/a.md": "---\nname: same\ndescription: $\n---\nyou are\n", ".gemini/agents/b.md": "---\nname: same\ndescription: $\n---\nyou are\n"}},
	{name: "agents link", files: map[string]string{}, home: map[string]string{".gemini/agents/a.md": "-> ../../x.md", "x.md": "---\nname: lnk\ndescription: $\n---\nyou are\n", ".gemini/agents/b.md": "---\nname: bb\ndescription: $\n---\nyou are\n"}},
	{name: "nested", reads: "a/b/x.txt", files: map[string]string{"GEMINI.md": "$\n", "a/GEMINI.md": "$\n", "a/b/GEMINI.md": "$\n", "a/b/x.txt": "x", "a/AGENTS.md": "$\n", "a/b/.gemini/skills/n/SKILL.md": "---\nname: n\ndescription: $\n---\nbody\n", "c/GEMINI.md": "$\n", "a/b/c/GEMINI.md": "$\n"}},
	{name: "nested import", reads: "a/x.txt", files: map[string]string{"a/GEMINI.md": "$ @n.md @../o.md", "a/n.md": "$\n", "o.md": "$\n", "a/x.txt": "x"}},
	{name: "nested blank", reads: "a/x.txt", files: map[string]string{"a/GEMINI.md": " ", "a/x.txt": "x"}},
	{name: "nested same", reads: "a/x.txt", files: map[string]string{"GEMINI.md": "$\n", "a/GEMINI.md": "-> ../GEMINI.md", "a/x.txt": "x"}},
	{name: "nested nogit", noGit: true, reads: "a/b/x.txt", files: map[string]string{"a/GEMINI.md": "$\n", "a/b/GEMINI.md": "$\n", "a/b/x.txt": "x"}},
	{name: "nested inner git", reads: "a/b/x.txt", files: map[string]string{"a/.git/HEAD": "x", "a/GEMINI.md": "$\n", "a/b/GEMINI.md": "$\n", "a/b/x.txt": "x", "GEMINI.md": "$\n"}},
	{name: "nested above start", start: "s", reads: "a/x.txt", files: map[string]string{"s/a/GEMINI.md": "$\n", "GEMINI.md": "$\n", "s/a/x.txt": "x"}},
	{name: "nested renamed", reads: "a/x.txt", files: map[string]string{".gemini/settings.json": "{\"context\":{\"fileName\":[\"A.md\"]}}", "a/GEMINI.md": "$\n", "a/A.md": "$\n", "a/x.txt": "x"}},
	{name: "many skills", files: manyWordSkills(".gemini/skills")},
}

// manyWordSkills are more than most lists have room for.
func manyWordSkills(dir string) map[string]string {
	files := map[string]string{}
	for i := range 200 {
		files[fmt.Sprintf("%s/m%03d/SKILL.md", dir, i)] = head(fmt.Sprintf("m%03d", i), "$ "+strings.Repeat("long ", 150))
	}
	return files
}
