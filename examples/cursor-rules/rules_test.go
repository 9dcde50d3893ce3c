package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"waymark/abi"
	guest "waymark/sdk-guest"
)

func config(t *testing.T, json string) guest.Config {
	t.Helper()
	c, err := guest.ParseConfig(json)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// run returns the rows as "path [error] name | description | attributes", a
// line each, and then the warnings.
func run(t *testing.T, req *guest.Request, root fs.FS) string {
	t.Helper()
	resp, err := resolve(req, root)
	if err != nil {
		t.Fatal(err)
	}
	if resp == nil {
		return ""
	}
	var lines []string
	for _, rows := range resp.Rows {
		list, err := rows.Decode()
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list {
			line := r.Path
			if r.Status != "" {
				line += " [" + r.Status + ": " + r.Error + "]"
			}
			line += fmt.Sprintf(" %s | %s |", r.Name, r.Description)
			for _, key := range []string{"mode", "globs", "directory"} {
				if v, ok := r.Attributes[key]; ok {
					line += " " + key + "=" + v.Text + strings.Join(v.List, ",")
				}
			}
			if r.Kind != guest.InstructionFile || r.Content == nil || r.Content.File != r.Path {
				line += " WRONG KIND OR CONTENT"
			}
			lines = append(lines, line)
		}
	}
	for _, w := range resp.Warnings {
		lines = append(lines, "! "+w)
	}
	return strings.Join(lines, "\n")
}

func text(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }

var tree = fstest.MapFS{
	".cursor/rules/all.mdc":               text("---\ndescription: The house\nglobs:\nalwaysApply: true\n---\n# All\n"),
	".cursor/rules/web/ts.mdc":            text("---\ndescription:\nglobs: **/*.ts,**/*.tsx\nalwaysApply: false\n---\n\n# TypeScript here\n"),
	".cursor/rules/db.mdc":                text("---\ndescription: For the database\n---\n"),
	".cursor/rules/zz.mdc":                text("Just text"),
	".cursor/rules/notes.md":              text("no rule"),
	".cursor/rules/cut.mdc":               text("---\ndescription: never closed\n"),
	"packages/a/.cursor/rules/always.mdc": text("---\nalwaysApply: true\n---\nA"),
	"packages/a/.cursor/rules/glob.mdc":   text("---\nglobs: *.go\n---\nB"),
	"packages/a/b/.cursor/rules/deep.mdc": text("C"),
	"node_modules/x/.cursor/rules/no.mdc": text("D"),
	".hidden/.cursor/rules/no.mdc":        text("E"),
}

const top = `.cursor/rules/all.mdc all | The house | mode=always
.cursor/rules/cut.mdc [invalid: front matter is not closed: no line is just ---] cut |  |
.cursor/rules/db.mdc db | For the database | mode=model
.cursor/rules/web/ts.mdc web/ts | TypeScript here | mode=glob globs=**/*.ts,**/*.tsx
.cursor/rules/zz.mdc zz | Just text | mode=manual`

func TestRules(t *testing.T) {
	const nested = `
packages/a/.cursor/rules/always.mdc always | A | mode=glob globs=packages/a/** directory=packages/a
packages/a/.cursor/rules/glob.mdc glob | B | mode=glob globs=*.go directory=packages/a`
	for conf, want := range map[string]string{
		`{}`:          top + nested,
		`{"depth":0}`: top,
		`{"depth":1}`: top,
		`{"depth":3}`: top + nested + "\npackages/a/b/.cursor/rules/deep.mdc deep | C | mode=manual directory=packages/a/b",
	} {
		if got := run(t, &guest.Request{Config: config(t, conf)}, tree); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", conf, got, want)
		}
	}
}

func TestNothingElse(t *testing.T) {
	for name, req := range map[string]*guest.Request{
		"a role":   {Root: guest.Root{Role: abi.RoleInstructions}},
		"one file": {Root: guest.Root{File: "x.mdc"}},
	} {
		if got := run(t, req, tree); got != "" {
			t.Errorf("%s: got\n%s", name, got)
		}
	}
	if got := run(t, &guest.Request{}, fstest.MapFS{}); got != "" {
		t.Errorf("an empty root: got\n%s", got)
	}
	if got := run(t, &guest.Request{}, fstest.MapFS{".cursor/rules": text("a file")}); got != "" {
		t.Errorf("a file: got\n%s", got)
	}
}

func TestBadConfig(t *testing.T) {
	for conf, want := range map[string]string{
		`{"depth":9}`: "depth is 9; it must be 0 to 8", `{"depth":-1}`: "depth is -1", `{"depth":"2"}`: "not an integer",
	} {
		if _, err := resolve(&guest.Request{Config: config(t, conf)}, tree); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", conf, err, want)
		}
	}
}

func TestLongFrontMatter(t *testing.T) {
	long := "---\n# " + strings.Repeat("x", 2*headSize) + "\nglobs: a.ts\n---\n"
	got := run(t, &guest.Request{}, fstest.MapFS{rulesDir + "/l.mdc": text(long)})
	if want := rulesDir + "/l.mdc l |  | mode=glob globs=a.ts"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestLinks(t *testing.T) {
	dir := t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(filepath.Join(dir, "shared"), 0o700))
	must(os.MkdirAll(filepath.Join(dir, rulesDir), 0o700))
	must(os.WriteFile(filepath.Join(dir, "shared", "s.mdc"), []byte("S"), 0o600))
	for name, target := range map[string]string{
		"common": "../../shared", "self": ".", "broken.mdc": "nowhere", "dir.mdc": "../../shared", "one.mdc": "../../shared/s.mdc",
	} {
		must(os.Symlink(target, filepath.Join(dir, rulesDir, name)))
	}
	got := run(t, &guest.Request{Config: config(t, `{"depth":0}`)}, os.DirFS(dir))
	for _, want := range []string{
		rulesDir + "/broken.mdc broken |  |\n", rulesDir + "/common/s.mdc common/s | S | mode=manual\n",
		rulesDir + "/dir.mdc [invalid: a link to a directory, where a file belongs] dir |", rulesDir + "/one.mdc one | S | mode=manual\n",
	} {
		if !strings.Contains(got+"\n", want) {
			t.Errorf("no line %q in\n%s", want, got)
		}
	}
	if lines := strings.Count(got, "\n"); lines > 4*(maxLevels+1) {
		t.Errorf("%d lines: a link to itself isn't bounded", lines)
	}
}

func TestMany(t *testing.T) {
	big := fstest.MapFS{}
	for i := range maxDirs + 10 {
		big[fmt.Sprintf("d%03d/.cursor/rules/r.mdc", i)] = text("---\ndescription: " + strings.Repeat("ä", 2000) + "\n---\n")
	}
	got := run(t, &guest.Request{}, big)
	if !strings.Contains(got, "! more than 500 directories") || strings.Count(got, "mode=model") != maxDirs-1 {
		t.Errorf("%d rows, and %s", strings.Count(got, "mode=model"), got[max(0, len(got)-200):])
	}
	full := fstest.MapFS{}
	for i := range 1000 {
		full[fmt.Sprintf("%s/%03d.mdc", rulesDir, i)] = big["d000/.cursor/rules/r.mdc"]
	}
	answer, err := module().HandleResolve([]byte(`{"abi":1,"resolver":"cursor-rules","root":{"name":"w","file":"","role":""},"config":{},"limits":{}}`), full)
	if err != nil || len(answer) > 1<<20 || !strings.Contains(string(answer), " were left out") {
		t.Errorf("%d bytes, %v", len(answer), err)
	}
}

func TestMaxResources(t *testing.T) {
	got := run(t, &guest.Request{Limits: guest.Limits{MaxResources: 2}}, tree)
	if strings.Count(got, "mode=") != 1 || !strings.HasSuffix(got, "\n! too many rules: 5 were left out") {
		t.Errorf("got\n%s", got)
	}
}

func TestModule(t *testing.T) {
	if err := module().Validate(); err != nil {
		t.Error(err)
	}
}
