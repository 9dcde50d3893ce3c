package agentfiles_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"waymark/abi"
	"waymark/plugins/conventions"
	"waymark/plugins/internal/places"
	guest "waymark/sdk-guest"
)

// show shows all of a resource but its kind and content.
func show(r guest.Resource) string {
	line := r.Path + " " + r.Convention + " " + strconv.Quote(r.Name) + " " + strconv.Quote(r.Description)
	if r.Status != "" {
		line += " ! " + r.Error
	}
	for _, key := range slices.Sorted(maps.Keys(r.Attributes)) {
		v := r.Attributes[key]
		line += " " + key + "=" + v.Text + strings.Join(v.List, "|")
	}
	if r.Content != nil && r.Content.Withheld {
		line += " WITHHELD"
	}
	return line + codes(r)
}

// one resolves a tree of one file and shows what comes of it.
func one(t *testing.T, json, name, content string) string {
	t.Helper()
	resp := resolve(t, guest.Root{Name: "w"}, json, fstest.MapFS{name: text(content)})
	if len(resp.Resources) != 1 || len(resp.Warnings) > 0 {
		t.Fatalf("%s: %+v", name, resp)
	}
	return strings.TrimPrefix(show(resp.Resources[0]), name+" ")
}

// TestEach: each entry of a list is a row of its own.
func TestEach(t *testing.T) {
	for what, tt := range map[string]struct {
		text string
		want []string
	}{
		"two modes": {"customModes:\n- slug: one\n  name: One\n  description: Does one\n  groups: [read]\n- slug: two\n  name: Two\n", []string{
			`#one .roomodes roomodes "One" "Does one"`, `#two .roomodes roomodes "Two" "" +description-missing`}},
		"JSON":           {`{"customModes": [{"slug": "one", "name": "One", "description": "D"}]}`, []string{`#one .roomodes roomodes "One" "D"`}},
		"one slug twice": {"customModes:\n- {slug: one, description: A}\n- {slug: one, description: B}\n", []string{`#one .roomodes roomodes "one" "A" +name-missing`}},
		"odd entries":    {"customModes: [1, {name: x}, {slug: s, description: D, name: Nn}]\n", []string{`#s .roomodes roomodes "Nn" "D"`}},
		"no modes":       {"customModes: []\n", []string{`# .roomodes roomodes ".roomodes" "" ! it has no customModes with a slug, so that it defines nothing`}},
		"something else": {"x: y\n", []string{`# .roomodes roomodes ".roomodes" "" ! it has no customModes with a slug, so that it defines nothing`}},
	} {
		resp := resolve(t, guest.Root{Name: "w"}, `{}`, fstest.MapFS{".roomodes": text(tt.text)})
		var got []string
		for _, r := range resp.Resources {
			got = append(got, "#"+r.Key+" "+show(r))
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", what, got, tt.want)
		}
	}
}

func TestKinds(t *testing.T) {
	for _, tt := range []struct{ name, file, text, want string }{
		{"a rule", ".cursor/rules/a/b.mdc", "---\ndescription: D\nglobs: *.ts, src/**\n---\nText", `cursor-rules "b" "D" globs=*.ts|src/** mode=glob`},
		{"a rule, always", ".cursor/rules/b.mdc", "---\nglobs: x\nalwaysApply: true\n---\n# Title", `cursor-rules "b" "Title"`},
		{"a rule for the model", ".cursor/rules/b.mdc", "---\ndescription: D\nglobs:\nalwaysApply: false\n---\n", `cursor-rules "b" "D" mode=model`},
		{"a rule by hand", ".cursor/rules/b.x.mdc", "# Only text", `cursor-rules "b" "Only text" mode=manual`},
		{"a rule that isn't closed", ".cursor/rules/b.mdc", "---\nglobs: x\n", `cursor-rules "b" "" +frontmatter-invalid`},
		{"globs for all", ".claude/rules/b.md", "---\npaths: ['**/*']\n---\nText", `claude-rules "b" "Text"`},
		{"globs in a list", ".claude/rules/b.md", "---\npaths:\n- a/{b,c}\n- d\n---\nText", `claude-rules "b" "Text" globs=a/{b,c}|d mode=glob`},
		{"a word for a mode", ".windsurf/rules/b.md", "---\ntrigger: model_decision\nglobs: x\n---\nText", `windsurf-rules "b" "Text" mode=model`},
		{"a word for globs", ".windsurf/rules/b.md", "---\ntrigger: glob\nglobs: **/*.go\n---\nText", `windsurf-rules "b" "Text" globs=**/*.go mode=glob`},
		{"a word for always", ".windsurf/rules/b.md", "---\ntrigger: always_on\nglobs: x\n---\nText", `windsurf-rules "b" "Text"`},
		{"an unknown word", ".windsurf/rules/b.md", "---\ntrigger: sometimes\n---\nText", `windsurf-rules "b" "Text" mode=manual`},

		{"a subagent", ".claude/agents/x/r.md", "---\nname: reviewer\ndescription: Reviews\ntools: Read, Grep\nmodel: opus\n---\nYou", `claude-agents "reviewer" "Reviews" model=opus tools=Read|Grep`},
		{"without a name", ".claude/agents/r.x.md", "---\ndescription: Reviews\ntools: [Read]\n---\nYou", `claude-agents "r" "Reviews" tools=Read +name-missing`},
		{"without a description", ".claude/agents/r.md", "---\nname: r\n---\nYou", `claude-agents "r" "" +description-missing`},
		{"globs in typographic quotes", ".claude/rules/b.md", "---\npaths: “src/**”\n---\nText", `claude-rules "b" "Text" globs=“src/**” mode=glob +glob-quotes`},
		{"a colon in its name", ".claude/agents/r.md", "---\nname: a:b\ndescription: D\n---\n", `claude-agents "a:b" "D" +name-invalid`},
		{"a colon in a value", ".claude/agents/r.md", "---\nname: r\ndescription: Use when: always\n---\n", `claude-agents "r" "Use when: always" +frontmatter-unquoted`},
		{"front matter that can't be read", ".claude/agents/r.md", "---\nname: [\n---\n", `claude-agents "r" "" ! front matter is not valid YAML in line 3: did not find expected node content`},
		{"broken, and may hold servers", ".claude/agents/r.md", "---\nmcpServers: [\n---\n", `claude-agents "r" "" ! front matter is not valid YAML in line 3: did not find expected node content WITHHELD +withheld`},
		{"servers", ".claude/agents/r.md", "---\nname: r\ndescription: D\nmcpServers: {a: {command: x}}\n---\n", `claude-agents "r" "D" WITHHELD +withheld`},
		{"TOML", ".codex/agents/r.toml", "name = \"r\"\ndescription = \"D\"\nmodel = \"m\"\ndeveloper_instructions = '''\nYou\n'''", `codex-agents "r" "D" model=m`},
		{"TOML with servers", ".codex/agents/r.toml", "name = \"r\"\ndescription = \"D\"\n[mcp_servers.x]\ncommand = \"y\"", `codex-agents "r" "D" WITHHELD +withheld`},
		{"broken TOML", ".codex/agents/r.toml", "name = r", `codex-agents "r" "" ! invalid TOML in line 1: neither text, number, boolean nor date`},
		{"JSON", ".kiro/agents/r.json", `{"name": "r", "description": "D", "tools": ["a", "b"], /* c */}`, `kiro-agents "r" "D" tools=a|b`},
		{"JSON with both", ".kiro/agents/r.json", `{"description": "D", "hooks": {"x": []}, "mcpServers": {}}`, `kiro-agents "r" "D" WITHHELD +name-missing +withheld`},
		{"JSON that is a list", ".kiro/agents/r.json", `[]`, `kiro-agents "r" "" ! it is a list, where an object belongs`},

		{"a command", ".claude/commands/git/do/commit.md", "---\ndescription: D\nallowed-tools: Bash(git add:*), Bash(git status:*)\nmodel: m\n---\n", `claude-commands "git:do:commit" "D" model=m tools=Bash(git add:*)|Bash(git status:*)`},
		{"a command without a head", ".claude/commands/commit.md", "# Commit\nAll", `claude-commands "commit" "Commit"`},
		{"a command's bad head", ".claude/commands/commit.md", "---\na: [\n---\nAll", `claude-commands "commit" "" +frontmatter-invalid`},
		{"a command with hooks", ".claude/commands/c.md", "---\ndescription: D\nhooks: {}\n---\n", `claude-commands "c" "D" WITHHELD +withheld`},
		{"TOML command", ".gemini/commands/git/commit.toml", "description = 'D'\nprompt = 'p'", `gemini-commands "git:commit" "D"`},
		{"TOML command without description", ".gemini/commands/c.toml", "prompt = 'p'", `gemini-commands "c" ""`},
		{"broken TOML command", ".gemini/commands/c.toml", "prompt = 'p", `gemini-commands "c" "" ! invalid TOML in line 1: a text is not closed`},
		{"a prompt", ".github/prompts/p.prompt.md", "---\nmode: agent\n---\nDo", `copilot-prompts "p" "Do"`},
		{"a prompt with a name", ".github/prompts/p.prompt.md", "---\nname: N\ntools: ['a', b]\n---\nDo", `copilot-prompts "N" "Do" tools=a|b`},
		{"YAML", ".goose/recipes/r.yaml", "name: R\ndescription: D\n", `goose-recipes "R" "D"`},
	} {
		if got := one(t, `{}`, tt.file, tt.text); got != tt.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

// skillOf resolves a skill in the directory skills/foo.
func skillOf(t *testing.T, json, content string) guest.Resource {
	t.Helper()
	resp := resolve(t, guest.Root{}, json, fstest.MapFS{"skills/foo/SKILL.md": text(content)})
	if len(resp.Resources) != 1 {
		t.Fatalf("%+v", resp)
	}
	return resp.Resources[0]
}

func TestSkillFindings(t *testing.T) {
	long := strings.Repeat("x", 1025)
	for _, tt := range []struct{ name, text, want string }{
		{"fine", "name: foo\ndescription: D", `"foo" "D"`},
		{"all fields", "name: foo\ndescription: D\nallowed-tools: Read Bash(a b)\nmodel: m\nlicense: x\nuser-invocable: true", `"foo" "D" model=m tools=Read|Bash(a b)`},
		{"another name", "name: bar\ndescription: D", `"bar" "D" +name-mismatch`},
		{"no name", "description: D", `"foo" "D" +name-missing`},
		{"not kebab", "name: Foo_x\ndescription: D", `"Foo_x" "D" +name-invalid +name-mismatch`},
		{"a long description", "name: foo\ndescription: " + long, `"foo" "` + long + `" +description-too-long`},
		{"long in bytes", "name: foo\ndescription: " + strings.Repeat("ä", 1024), `"foo" "` + strings.Repeat("ä", 1024) + `"`},
		{"a colon", "name: foo\ndescription: Use: it", `"foo" "Use: it" +frontmatter-unquoted`},
		{"a colon and an exclamation mark", "name: foo\ndescription: Use: it!", `"foo" "Use: it!" +frontmatter-unquoted`},
		{"a block scalar", "name: |\n  foo\ndescription: >\n  D\n", `"foo" "D"`},
		{"a tag", "name: foo\ndescription: !x D", `"foo" "D"`},
		{"a merge key", "name: foo\ndescription: <<", `"foo" "<<"`},
		{"unknown fields", "name: foo\ndescription: D\nversion: 1\nxYz: a", `"foo" "D" +unknown-field`},
		{"hooks", "name: foo\ndescription: D\nhooks: {PreToolUse: []}", `"foo" "D" WITHHELD +withheld`},
		{"hooks that are none", "name: foo\ndescription: D\nhooks:", `"foo" "D"`},
		{"unclear hooks", "name: foo\nhooks: [", `"" "" ! front matter is not valid YAML in line 4: did not find expected node content WITHHELD +withheld`},
	} {
		r := skillOf(t, `{}`, "---\n"+tt.text+"\n---\nBody")
		if got := strings.TrimPrefix(show(r), "skills/foo skills "); got != tt.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tt.name, got, tt.want)
		}
		if r.Content == nil || r.Content.File != "skills/foo/SKILL.md" {
			t.Errorf("%s: %+v", tt.name, r.Content)
		}
	}
	for _, blank := range []string{"\u00a0", "\u0085", "\f", "\v", " "} {
		if got := show(skillOf(t, `{}`, "---"+blank+"\nname: foo\ndescription: D\n---"+blank+"\n")); got != `skills/foo skills "foo" "D"` {
			t.Errorf("%q behind ---: %s", blank, got)
		}
	}
}

// TestNoSubagent: a README among subagents isn't one.
func TestNoSubagent(t *testing.T) {
	for _, text := range []string{"# Read me\n", "---\ntitle: x\n---\nText"} {
		if resp := resolve(t, guest.Root{Name: "w"}, `{}`, fstest.MapFS{".claude/agents/README.md": {Data: []byte(text)}}); len(resp.Resources) > 0 {
			t.Errorf("%q: %+v", text, resp.Resources)
		}
	}
}

// TestStrict: what has a warning is invalid where the operator wants it so.
func TestStrict(t *testing.T) {
	for content, want := range map[string]string{
		"name: bar\ndescription: D":                `name "bar" is not the name of its directory, "foo"`,
		"name: foo":                                "there is no description: agents don't know when to use it",
		"name: foo\ndescription: a: b":             "front matter is YAML only once its values with a colon are quoted",
		"name: foo\ndescription: D\nother: x":      "",
		"name: foo\ndescription: D\nhooks: {a: b}": "",
	} {
		r := skillOf(t, `{"strict":true}`, "---\n"+content+"\n---\n")
		if r.Error != want || (r.Status == abi.StatusInvalid) != (want != "") {
			t.Errorf("%q: %q, want %q", content, r.Error, want)
		}
	}
	if got := one(t, `{"strict":true}`, ".claude/agents/r.md", "---\ndescription: D\n---\nYou"); !strings.Contains(got, "! it has no name") {
		t.Error(got)
	}
	if got := one(t, `{"strict":true}`, ".claude/commands/r.md", "---\na: [\n---\n"); !strings.Contains(got, "! front matter is not") {
		t.Error(got)
	}
	if got := one(t, `{"strict":true}`, ".cursor/rules/r.mdc", "---\na: [\n---\n"); strings.Contains(got, "!") {
		t.Errorf("rules aren't judged: %s", got)
	}
}

// TestGrants: what is granted is shown.
func TestGrants(t *testing.T) {
	const both = "---\nname: foo\ndescription: D\nhooks: {a: b}\nmcp-servers: {a: b}\n---\n"
	for grants, withheld := range map[string]bool{`[]`: true, `["hooks"]`: true, `["mcp"]`: true, `["mcp","hooks"]`: false, `["hook-commands"]`: true} {
		if r := skillOf(t, `{"grants":`+grants+`}`, both); r.Content.Withheld != withheld {
			t.Errorf("%s: %s", grants, show(r))
		}
	}
}

// TestFirstConvention: a file is reported once for a kind, for the first convention.
func TestFirstConvention(t *testing.T) {
	const own = `{"conventions":[
		{"id":"mine","kind":"instruction_file","format":"markdown","name":"file","description":"heading","places":["notes/**/*.md","AGENTS.md"]},
		{"id":"mine-2","kind":"instruction_file","format":"text","description":"heading","places":["notes/b/*"]},
		{"id":"mine-skills","kind":"skill","format":"markdown","name":"front_matter","places":["lib/*/SKILL.md"]},
		{"id":"mine-globs","kind":"instruction_file","format":"markdown","mode":"manual","globs_key":"for","places":["r/*.txt"]},
		{"id":"mine-nested","kind":"instruction_file","format":"yaml","name":"front_matter","description":"front_matter","mode":"glob","globs_key":"applies.to","places":["y/*.yaml"]},
		{"id":"another-kind","kind":"hook","format":"json","places":["x.json"]}],
		"disabled":["cursorrules","mine-2"]}`
	tree := fstest.MapFS{
		"AGENTS.md": text("# A"), "notes/a.md": text("# N"), "notes/b/c.md": text("# M"), "notes/b/d": text("x"), "x.json": text("{}"),
		".cursorrules": text("off"), "lib/s/SKILL.md": text(skill("s")), "r/a.txt": text("---\nfor: \"*.go\"\n---\n"), "r/b.txt": text("B"),
		"y/a.yaml": text("name: a\napplies:\n  to: [\"*.go\", x]\n"), "y/b.yaml": text("name: b\napplies: {}\n"),
	}
	var got []string
	for _, r := range resolve(t, guest.Root{Name: "w"}, own, tree).Resources {
		got = append(got, show(r))
	}
	want := []string{
		`AGENTS.md agents-md "" "A"`, `lib/s mine-skills "s" "About s."`, `notes/a.md mine "a" "N"`, `notes/b/c.md mine "c" "M"`,
		`r/a.txt mine-globs "" "" globs=*.go mode=glob`, `r/b.txt mine-globs "" "" mode=manual`,
		`y/a.yaml mine-nested "a" "" globs=*.go|x mode=glob`, `y/b.yaml mine-nested "b" "" mode=glob +globs-missing`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, bad := range []string{`{"conventions":{}}`, `{"conventions":[1]}`, `{"conventions":[{"id":1}]}`, `{"conventions":[{"places":[1]}]}`, `{"strict":1}`, `{"grants":[1]}`, `{"disabled":{}}`} {
		if _, err := resolver.Resolve(&guest.Request{Config: config(t, bad)}, tree); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}

// TestUserScope: a root that lies in a home directory has the user's places.
func TestUserScope(t *testing.T) {
	tree := fstest.MapFS{"CLAUDE.md": text("# Mine"), ".claude/CLAUDE.md": text("# Inner")}
	for json, want := range map[string]string{
		`{}`:                                `CLAUDE.md claude-md "" "Mine"`,
		`{"scope":"user"}`:                  `.claude/CLAUDE.md user-claude-md "" "Inner"`,
		`{"scope":"user","base":".claude"}`: `CLAUDE.md user-claude-md "" "Mine"`,
		`{"scope":"user","base":".codex"}`:  ``,
	} {
		got := ""
		for _, r := range resolve(t, guest.Root{Name: "w"}, json, tree).Resources {
			got += show(r)
		}
		if got != want {
			t.Errorf("%s: %s", json, got)
		}
	}
}

func TestImports(t *testing.T) {
	const content = "See @docs/a.md and @~/b, @./c.md.\n`@no/code.md` ``@no/code`` @d/e`x`\n```go\n@no/fence.md\n```\n~~~\n@no/f\n~~~\n" +
		"me@host.com @someone @/abs/x (@in/parens)\n> @quoted/g.md\n@docs/a.md\n"
	if got, want := one(t, `{}`, "CLAUDE.md", content), `claude-md "" "See @docs/a.md and @~/b, @./c.md." imports=docs/a.md|~/b,|d/e|/abs/x|quoted/g.md`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	const more = "---\nfor: @no/front.md\n---\n<!-- @no/c.md -->\n@a/b.md <!-- @no/c.md\n@no/d.md --> @c/d.md\n@a/b.md#part\n@my\\ docs/e.md x\n" +
		"text\n    @a/wrapped.md\n\n    @no/code.md\n\n    @no/code.md\n- item\n\n    @a/item.md\n12) item\n\n\t@a/item2.md\nend\n\n\t@no/code.md\n" +
		"team@a/b.md\n@a\\\n@x.y@no/z.md\n"
	if got, want := one(t, `{}`, "CLAUDE.md", more), "imports=a/b.md|c/d.md|my docs/e.md|a/wrapped.md|a/item.md|a/item2.md|x.y@no/z.md"; !strings.HasSuffix(got, want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := one(t, `{}`, "AGENTS.md", content); strings.Contains(got, "imports") {
		t.Errorf("AGENTS.md imports: %s", got)
	}
	many := ""
	for i := range 100 {
		many += "\n@x/" + strconv.Itoa(i)
	}
	r := resolve(t, guest.Root{}, `{}`, fstest.MapFS{"CLAUDE.md": text(many)}).Resources[0]
	if n := len(r.Attributes["imports"].List); n != 32 {
		t.Errorf("%d imports", n)
	}
}

// TestDeep: "**" has its bounds, and leaves out what nobody means.
func TestDeep(t *testing.T) {
	deep := strings.Repeat("d/", 8)
	tree := fstest.MapFS{
		".deep/skills/a/SKILL.md": text(skill("a")), ".deep/skills/" + deep + "SKILL.md": text(skill("d")), ".deep/skills/d/" + deep + "SKILL.md": text(skill("d")),
		".deep/skills/.git/x/SKILL.md": text(skill("x")), ".deep/skills/node_modules/x/SKILL.md": text(skill("x")), ".deep/skills/a/in/SKILL.md": text(skill("in")),
	}
	var got []string
	for _, r := range resolve(t, guest.Root{}, `{}`, tree).Resources {
		got = append(got, r.Path)
	}
	if want := []string{".deep/skills/a", ".deep/skills/d/d/d/d/d/d/d/d"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	tree = fstest.MapFS{}
	for i := range 2100 {
		tree[".cursor/rules/"+strconv.Itoa(10000+i)+"/a.mdc"] = text("x")
	}
	if n := len(resolve(t, guest.Root{}, `{}`, tree).Resources); n != 1999 {
		t.Errorf("%d rules are found, want those of 1999 directories", n)
	}
}

// TestCircles: links are followed inside the root, and not in circles.
func TestCircles(t *testing.T) {
	dir := t.TempDir()
	put := func(name, content string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(".cursor/rules/a.mdc", "a")
	put("shared/b.mdc", "b")
	put("shared/c/d.mdc", "d")
	for name, target := range map[string]string{
		".cursor/rules/self": ".", ".cursor/rules/up": "../..", ".cursor/rules/shared": "../../shared", "shared/c/back": "..", ".cursor/rules/e.mdc": "../../shared",
		"shared/mine": "c",
	} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, r := range resolve(t, guest.Root{Name: "w"}, `{}`, os.DirFS(dir)).Resources {
		got = append(got, r.Path+r.Status)
	}
	want := []string{
		".cursor/rules/a.mdc", ".cursor/rules/e.mdc/b.mdc", ".cursor/rules/e.mdc/c/d.mdc", ".cursor/rules/e.mdc/mine/d.mdc",
		".cursor/rules/shared/b.mdc", ".cursor/rules/shared/c/d.mdc", ".cursor/rules/shared/mine/d.mdc",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestReads: what is declared is within the ABI's bounds, and lets every place be seen.
func TestReads(t *testing.T) {
	for name, list := range map[string][]conventions.Convention{"the tests'": table, "the table": conventions.All} {
		reads := places.Reads(list, []abi.Kind{abi.KindInstructionFile, abi.KindSkill, abi.KindSubagent, abi.KindCommand}, conventions.ScopeProject, conventions.ScopeUser)
		if len(reads) > 250 {
			t.Errorf("%s: %d patterns", name, len(reads))
		}
		for _, p := range reads {
			if len(p) > 1024 {
				t.Errorf("%s: %.80s… has %d bytes", name, p, len(p))
			}
		}
	}
}

// FuzzFiles: whatever stands in a file of any format, there is one row of it within the
// ABI's bounds.
func FuzzFiles(f *testing.F) {
	files := []string{
		".cursor/rules/a.mdc", ".claude/rules/a.md", ".windsurf/rules/a.md", ".claude/agents/a.md", ".codex/agents/a.toml", ".kiro/agents/a.json",
		".claude/commands/a.md", ".gemini/commands/a.toml", ".github/prompts/a.prompt.md", ".goose/recipes/a.yaml", "CLAUDE.md", "AGENTS.md",
	}
	for i, content := range []string{
		"---\nglobs: *.ts, a\nalwaysApply: false\n---\nText", "---\npaths: [a, {b: c}]\n---\n", "---\ntrigger: glob\n---\n", "---\nname: a\ntools: Read, Bash(a b)\nhooks: &x {}\n---\n",
		"name = 'a'\n[mcp_servers.x]\n", `{"name": "a", "tools": {"a": true}, /* c */}`, "---\ndescription: a: b\n---\n", "description = \"\"\"x\"\"\"", "---\nname: !x y\n---\n",
		"name: [a, *b]\n", "@a/b `@c/d`\n```\n@e/f\n", "\n# Title",
	} {
		f.Add(content, i)
	}
	f.Fuzz(func(t *testing.T, content string, i int) {
		name := files[(i%len(files)+len(files))%len(files)]
		resp := resolve(t, guest.Root{}, `{}`, fstest.MapFS{name: text(content)})
		if len(resp.Resources) != 1 {
			t.Fatalf("%+v", resp)
		}
		r, size := resp.Resources[0], 0
		for k, v := range r.Attributes {
			size += len(k) + v.Size()
		}
		if len(r.Name) > abi.MaxName || len(r.Description) > abi.MaxDescription || len(r.Error) > abi.MaxError || size > abi.MaxAttributes ||
			len(r.Findings) > abi.MaxFindings || (r.Error != "") != (r.Status == abi.StatusInvalid) {
			t.Fatalf("%+v", r)
		}
		for _, found := range r.Findings {
			if len(found.Message) > abi.MaxMessage || found.Code == "" || found.Message == "" {
				t.Fatalf("%+v", found)
			}
		}
	})
}
