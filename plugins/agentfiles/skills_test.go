package agentfiles_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"waymark/abi"
	guest "waymark/sdk-guest"
)

// skillRows shows resources as "path name", "path ! error", and the codes of findings.
func skillRows(resp *guest.Response) string {
	var lines []string
	for _, r := range resp.Resources {
		line := r.Path + " " + r.Name
		if r.Status == abi.StatusInvalid {
			line = r.Path + " ! " + r.Error
		}
		line += codes(r)
		if r.Kind != guest.Skill || r.Content == nil || r.Content.File != filepath.Join(r.Path, "SKILL.md") {
			line += " WRONG KIND OR CONTENT"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func TestPlaces(t *testing.T) {
	tree := fstest.MapFS{
		"skills/a/SKILL.md":             text(skill("a")),
		"skills/README.md":              text("no skill"),
		"skills/empty/notes.md":         text("no skill"),
		"skills/lower/skill.md":         text(skill("lower")),
		"skills/deep/er/SKILL.md":       text(skill("er")),
		"skills/meta/SKILL.md/x":        text("a directory named like a file"),
		".agents/skills/b/SKILL.md":     text(skill("b")),
		".claude/skills/c/SKILL.md":     text(skill("c")),
		".codex/skills/d/SKILL.md":      text(skill("d")),
		".cursor/skills/no/SKILL.md":    text(skill("no")),
		"sub/.agents/skills/x/SKILL.md": text(skill("x")),
		"top/SKILL.md":                  text(skill("top")),
		"SKILL.md":                      text(skill("w")),
	}
	everywhere := ".agents/skills/b b\n.claude/skills/c c\n.codex/skills/d d\nskills/a a"
	tests := []struct {
		name string
		root guest.Root
		want string
	}{
		{"a workspace", guest.Root{Name: "w"}, everywhere},
		{"named skills", guest.Root{Name: "skills"}, "top top\n" + everywhere},
		{"role skills", guest.Root{Name: "w", Role: abi.RoleSkills}, "top top\n" + everywhere},
		{"another's role", guest.Root{Name: "skills", Role: abi.RoleInstructions}, ""},
		{"one SKILL.md", guest.Root{Name: "w", File: "SKILL.md"}, ". w"},
		{"one SKILL.md with the role", guest.Root{Name: "w", File: "SKILL.md", Role: abi.RoleSkills}, ". w"},
		{"one SKILL.md in a directory of another name", guest.Root{Name: "v", File: "SKILL.md"},
			". w +name-mismatch"},
		{"one other file", guest.Root{Name: "w", File: "README.md", Role: abi.RoleSkills}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			resp := resolve(t, tt.root, `{}`, tree)
			if got := skillRows(resp); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
			if len(resp.Warnings) > 0 {
				t.Errorf("warnings: %q", resp.Warnings)
			}
		})
	}
	if d := resolve(t, guest.Root{}, `{}`, tree).Resources[3].Description; d != "About a." {
		t.Errorf("description %q", d)
	}
}

func TestContainersThatAreNone(t *testing.T) {
	dir := t.TempDir()
	for _, link := range [][2]string{{"nowhere", "skills"}, {"file", ".claude"}} {
		if err := os.Symlink(link[0], filepath.Join(dir, link[1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if resp := resolve(t, guest.Root{}, `{}`, os.DirFS(dir)); len(resp.Resources)+len(resp.Warnings) > 0 {
		t.Errorf("got %+v", resp)
	}
	if resp := resolve(t, guest.Root{}, `{}`, fstest.MapFS{"skills": text("a file")}); len(resp.Resources)+len(resp.Warnings) > 0 {
		t.Errorf("got %+v", resp)
	}
}

// TestLinks builds a tree where skills are reached through links of every
// sort.
func TestLinks(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"lib/real", ".agents/skills/plain", "lib/pack/packed", ".agents/skills/dirmeta", ".agents/skills/brokenmeta", ".agents/skills/linkedmeta"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"lib/real", ".agents/skills/plain", "lib/pack/packed"} {
		if err := os.WriteFile(filepath.Join(dir, file, "SKILL.md"), []byte(skill(filepath.Base(file))), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "lib/linked.md"), []byte(skill("linkedmeta")), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{
		".agents/skills/alias":               "../../lib/real",
		".agents/skills/chain":               "alias",
		".agents/skills/absolute":            filepath.Join(dir, "lib/real"),
		".agents/skills/dangling":            "nowhere",
		".agents/skills/loop":                "loop",
		".agents/skills/file":                "../../lib/linked.md",
		".agents/skills/dirmeta/SKILL.md":    "..",
		".agents/skills/brokenmeta/SKILL.md": "nowhere",
		".agents/skills/linkedmeta/SKILL.md": "../../../lib/linked.md",
		"skills":                             ".agents/skills",
		".codex":                             "lib",
		"lib/skills":                         "pack",
	} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	one := func(container string) string {
		var lines []string
		for _, l := range []string{
			"absolute real", "alias real", "brokenmeta ", "chain real",
			"dirmeta ! SKILL.md is a link to a directory, where a file belongs", "linkedmeta linkedmeta", "loop ", "plain plain",
		} {
			lines = append(lines, container+"/"+l)
		}
		return strings.Join(lines, "\n")
	}
	want := one(".agents/skills") + "\n.codex/skills/packed packed\n" + one("skills")
	resp := resolve(t, guest.Root{Name: "w"}, `{}`, os.DirFS(dir))
	if got := skillRows(resp); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if len(resp.Warnings) > 0 {
		t.Errorf("warnings: %q", resp.Warnings)
	}
}

// TestLinkToRoot says that a link up to the root is the directory that the
// request names.
func TestLinkToRoot(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "skills"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "SKILL.md"), []byte(skill("w")), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("..", filepath.Join(dir, "skills/self")); err != nil {
		t.Fatal(err)
	}
	if got, want := skillRows(resolve(t, guest.Root{Name: "w"}, `{}`, os.DirFS(dir))), "skills/self w"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestFrontMatter(t *testing.T) {
	long := strings.Repeat("x", 5000)
	tests := []struct{ name, text, want string }{
		{"plain", "---\nname: foo\ndescription: A thing.\n---\n", "ok A thing."},
		{"no description", "---\nname: foo\n---\n", "ok +description-missing"},
		{"null description", "---\nname: foo\ndescription:\n---\n", "ok +description-missing"},
		{"BOM, CRLF, blanks", "\ufeff --- \r\nname: foo\r\ndescription: A thing.\r\n---\t\r\n", "ok A thing."},
		{"quoted", "---\nname: \"foo\"\ndescription: 'It''s'\n---\n", "ok It's"},
		{"folded", "---\nname: foo\ndescription: >\n  A\n  thing.\n---\n", "ok A thing."},
		{"comment", "---\nname: foo # really\ndescription: A#b\n---\n", "ok A#b"},
		{"other keys", "---\nname: foo\nallowed-tools: [a, b]\nmetadata:\n  x: 1\nversion: 1.0\n---\n", "ok +description-missing +unknown-field"},
		{"anchor and alias", "---\nx: &n foo\nname: *n\n---\n", "ok +description-missing +unknown-field"},
		{"tagged string", "---\nname: foo\ndescription: !!str 12\n---\n", "ok 12"},
		{"closing after the head", "---\nname: foo\nx: " + long + "\n---\n", "ok +description-missing +unknown-field"},
		{"delimiter cut by the head", "---\nname: foo\nx: " + strings.Repeat("x", 1024-4-10-3-1-3) + "\n---\ny\n", "ok +description-missing +unknown-field"},
		{"an anchor that holds itself", "---\nname: foo\nx: &x [*x]\n---\n", "ok +description-missing +unknown-field"},
		{"merge keys are YAML 1.1", "---\na: &a {name: foo}\n<<: *a\n---\n", "ok +name-missing +description-missing +unknown-field"},
		{"duplicate of another key", "---\nname: foo\nx: [1]\nx: 2\n---\n", `front matter is not valid YAML: key "x" stands twice`},
		{"rule in a text", "---\nname: foo\ndescription: a --- b\n---\n", "ok a --- b"},
		{"longest name", "---\nname: " + strings.Repeat("a", 64) + "\n---\n", "ok +name-mismatch +description-missing"},

		{"empty", "", "no front matter: the first line is not ---"},
		{"none", "# foo\n", "no front matter: the first line is not ---"},
		{"unclosed", "---\nname: foo\n", "front matter is not closed: no line is just ---"},
		{"unclosed and large", "---\nname: foo\n" + strings.Repeat("x\n", 40000), "front matter is not closed: no line is just ---"},
		{"empty block", "---\n---\n", "ok +name-missing +description-missing"},
		{"only a comment", "---\n# x\n---\n", "ok +name-missing +description-missing"},
		{"null name", "---\nname: ~\n---\n", "ok +name-missing +description-missing"},
		{"wrong case of the key", "---\nName: foo\n---\n", "ok +name-missing +description-missing +unknown-field"},
		{"name a number", "---\nname: 12\n---\n", "name is not a string; put it in quotes"},
		{"name a boolean", "---\nname: true\n---\n", "name is not a string; put it in quotes"},
		{"name a list", "---\nname: [foo]\n---\n", "name is not a string; put it in quotes"},
		{"name empty", "---\nname: ''\n---\n", "ok +name-missing +description-missing"},
		{"upper case", "---\nname: Foo\n---\n", "ok +name-invalid +name-mismatch +description-missing"},
		{"two hyphens", "---\nname: a--b\n---\n", "ok +name-invalid +name-mismatch +description-missing"},
		{"hyphen first", "---\nname: '-a'\n---\n", "ok +name-invalid +name-mismatch +description-missing"},
		{"hyphen last", "---\nname: a-\n---\n", "ok +name-invalid +name-mismatch +description-missing"},
		{"not ASCII", "---\nname: навык\n---\n", "ok +name-invalid +name-mismatch +description-missing"},
		{"too long", "---\nname: " + strings.Repeat("a", 65) + "\n---\n", "ok +name-too-long +name-mismatch +description-missing"},
		{"other name", "---\nname: bar\n---\n", "ok +name-mismatch +description-missing"},
		{"description a number", "---\nname: foo\ndescription: 1.5\n---\n", "description is not a string; put it in quotes"},
		{"description a mapping", "---\nname: foo\ndescription:\n  a: b\n---\n", "description is not a string; put it in quotes"},
		{"a list", "---\n- name\n---\n", "front matter is not a mapping of keys to values"},
		{"a text", "---\nfoo\n---\n", "front matter is not a mapping of keys to values"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := verdict(t, tt.text); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
	for _, broken := range []string{
		"description: \"x", "name: bar", "\tx: y", "x: [", "x: *missing", "--- x\ny: z", "x: \x01",
		"x: " + strings.Repeat("[", 20000), "a: &a [x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a",
	} {
		if got := verdict(t, "---\nname: foo\n"+broken+"\n---\n"); !strings.HasPrefix(got, "front matter is not valid YAML") || strings.Contains(got, "go-yaml") || len(got) > 600 || strings.Contains(got, "\n") {
			t.Errorf("%.40q: %s", broken, got)
		}
	}
}

// verdict resolves one skill in skills/foo: its error, or "ok " and its
// description.
func verdict(t *testing.T, content string) string {
	t.Helper()
	resp := resolve(t, guest.Root{}, `{}`, fstest.MapFS{"skills/foo/SKILL.md": text(content)})
	if len(resp.Resources) != 1 {
		t.Fatalf("got %+v", resp)
	}
	r := resp.Resources[0]
	if r.Status == abi.StatusInvalid {
		return r.Error
	}
	return strings.TrimSpace("ok "+r.Description) + codes(r)
}

// TestBombs says that no front matter of 64 KiB makes a run expensive: the
// answer comes, and it allocates little, which nothing quadratic would.
func TestBombs(t *testing.T) {
	for name, unit := range map[string]string{
		"one key": "? a\n: b\n", "keys": "%d: x\n", "flow keys": "", "comments": "# c\n", "lists": "- ", "questions": "? ", "brackets": "[", "braces": "{a: ",
		"anchors": "a%d: &a%d [x]\n", "aliases": "a%d: *a\n", "tags": "a%d: !t x\n", "texts": "a%d: 'it''s'\n", "blank lines": "\n", "quotes": "\"",
		"escapes": "\\x41", "folded": "x\n ", "block": "a%d: |\n x\n", "colons": ": ", "commas": ", ", "stars": "*a ", "ampersands": "&a ",
		"percent": "%TAG ! x\n", "trailing comments": "a%d: b # c\n", "indented comments": " # c\n", "nested": "",
	} {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			b.WriteString("---\nname: foo\na: &a x\nf: \"x\"\n")
			switch name {
			case "flow keys":
				b.WriteString("m: {")
			case "quotes", "escapes":
				b.WriteString("q: \"")
			case "stars", "ampersands", "folded", "commas", "brackets":
				b.WriteString("q: ")
			}
			for i := 0; b.Len() < 65000; i++ {
				switch name {
				case "flow keys":
					b.WriteString("k" + strconv.Itoa(i) + ": 1, ")
				case "nested":
					b.WriteString(strings.Repeat(" ", i%200) + "k:\n")
				default:
					b.WriteString(strings.ReplaceAll(unit, "%d", strconv.Itoa(i)))
				}
			}
			b.WriteString("\n---\n")
			content := b.String()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			got := verdict(t, content)
			runtime.ReadMemStats(&after)
			if allocated := (after.TotalAlloc - before.TotalAlloc) >> 20; allocated > 16 {
				t.Errorf("%d MiB are allocated: %s", allocated, got)
			}
		})
	}
}

// TestYAMLBudget says that a root full of front matter that needs the YAML
// library loses what is too much of it, and no plain skill.
func TestYAMLBudget(t *testing.T) {
	tree := fstest.MapFS{"skills/z/SKILL.md": text(skill("z"))}
	for i := range 20 {
		name := "s-" + string(rune('a'+i))
		tree["skills/"+name+"/SKILL.md"] = text("---\nname: " + name + "\nx: &y [" + strings.Repeat("x", 50_000) + "]\n---\n")
	}
	count := map[string]int{}
	resp := resolve(t, guest.Root{}, `{}`, tree)
	for _, r := range resp.Resources {
		count[r.Status]++
		if r.Status != "" && !strings.Contains(r.Error, "too much") {
			t.Error(r.Error)
		}
	}
	if count[""] != 11 || count[abi.StatusInvalid] != 10 || resp.Resources[20].Name != "z" || resp.Resources[20].Status != "" {
		t.Errorf("%v, the last is %+v", count, resp.Resources[20])
	}
}

// TestMuchText says that too much costs descriptions first, then rows, and
// never the answer.
func TestMuchText(t *testing.T) {
	tree := fstest.MapFS{}
	for i := range 5000 {
		name := "s-" + strconv.Itoa(i) + strings.Repeat("x", 40)
		tree["skills/"+name+"/SKILL.md"] = text("---\nname: " + name + "\ndescription: '" + strings.Repeat("\"", 5000) + "'\n---\n")
	}
	out, err := module().HandleResolve([]byte(`{"abi":1,"resolver":"context"}`), tree)
	if err != nil {
		t.Fatal(err)
	}
	if len(out) > 4<<20 {
		t.Errorf("the answer has %d bytes", len(out))
	}
	var resp abi.Response
	if err := json.Unmarshal(out, &resp); err != nil {
		t.Fatal(err)
	}
	if len(resp.Resources) < 3000 || len(resp.Resources[0].Description) != abi.MaxDescription || resp.Resources[1000].Description != "" {
		t.Errorf("%d rows, the first description has %d bytes", len(resp.Resources), len(resp.Resources[0].Description))
	}
	if len(resp.Warnings) != 2 || !strings.HasPrefix(resp.Warnings[0], "too much text") || !strings.HasPrefix(resp.Warnings[1], "too many resources") {
		t.Errorf("warnings: %q", resp.Warnings)
	}
}

func FuzzFrontMatter(f *testing.F) {
	f.Add("---\nname: foo\ndescription: A thing.\n---\n")
	f.Add("---\nname: \"foo\"\nx: [a, {b: &c d}, *c]\n<<: *c\n---\n")
	f.Add("\ufeff---\r\nname: >-\r\n  foo\r\ndescription: |\r\n  a\r\n---\r\n")
	f.Fuzz(func(t *testing.T, content string) {
		out, err := module().HandleResolve([]byte(`{"abi":1,"resolver":"context"}`), fstest.MapFS{"skills/foo/SKILL.md": text(content)})
		if err != nil {
			t.Fatal(err)
		}
		var resp abi.Response
		if err := json.Unmarshal(out, &resp); err != nil || len(resp.Resources) != 1 {
			t.Fatalf("%s: %v", out, err)
		}
		r := resp.Resources[0]
		if r.Status != abi.StatusInvalid && r.Name != "foo" {
			t.Fatalf("valid, but its name is %q", r.Name)
		}
		if r.Status == abi.StatusInvalid && r.Error == "" || len(r.Name) > abi.MaxName || len(r.Description) > abi.MaxDescription || len(r.Error) > abi.MaxError {
			t.Fatalf("%+v", r)
		}
	})
}

func BenchmarkResolve(b *testing.B) {
	for _, n := range []int{4, 50, 200} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			tree := fstest.MapFS{}
			for i := range n {
				name := "skill-" + strconv.Itoa(i)
				tree[".agents/skills/"+name+"/SKILL.md"] = text(skill(name) + strings.Repeat("Some text of a skill. ", 372))
			}
			for b.Loop() {
				if _, err := resolver.Resolve(&guest.Request{}, tree); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestMetaFile: another name for SKILL.md, and what can't be one.
func TestMetaFile(t *testing.T) {
	root := fstest.MapFS{
		"skills/a/HOWTO.md": {Data: []byte("---\nname: a\n---\n")},
		"skills/b/SKILL.md": {Data: []byte("---\nname: b\n---\n")},
	}
	for config, want := range map[string]string{`{}`: "skills/b", `{"meta_file":"HOWTO.md"}`: "skills/a"} {
		c, err := guest.ParseConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := resolver.Resolve(&guest.Request{Config: c}, root)
		if err != nil || len(resp.Rows) != 1 || !strings.Contains(resp.Rows[0].String(), `"path":"`+want+`"`) {
			t.Errorf("%s: %+v, %v", config, resp, err)
		}
	}
	for _, config := range []string{`{"meta_file":1}`, `{"meta_file":"a/b"}`, `{"meta_file":""}`, `{"meta_file":".."}`} {
		c, err := guest.ParseConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := resolver.Resolve(&guest.Request{Config: c}, root); err == nil {
			t.Errorf("%s is taken", config)
		}
	}
}
