package host_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"waymark/abi"
	"waymark/host"
	"waymark/snapshot"
	"waymark/test/contracts/vfstest"
)

// importTree imports what is there, what isn't, what mustn't be seen and what is no path.
func importTree() []string {
	return []string{
		"CLAUDE.md = # Rules\n@docs/there.md @docs/gone.md @linked/there.md\n`@docs/code.md`\n" +
			"@~/notes.md @../sibling.md @.ssh/notes.md @.mcp.json @private/notes.md @out.md @./nothing\n" +
			"me@docs/mail.md @scope/pkg @types/node.js @app.route @example.com @docs/*.md @<name>.md @components/ @/lib/utils\n",
		"docs/there.md = x", "linked -> docs", "out.md -> ../out/out.md",
		"GEMINI.md = @./docs/gone.md", ".claude/CLAUDE.md = @there.md @../docs/there.md", ".claude/rules/a.md = ---\npaths: x\n---\n@gone.md",
		"AGENTS.md = @docs/gone.md",
	}
}

// importFindings are those about imports, by the path of the file.
func importFindings(s *snapshot.Snapshot, dir string) (list []string) {
	for _, r := range s.Resources {
		for _, f := range r.Findings {
			if f.Code == abi.FindingImportMissing {
				list = append(list, relative(r.Source, dir)+" "+string(f.Severity)+": "+f.Message)
			}
		}
	}
	slices.Sort(list)
	return list
}

// TestMissingImports: an import that leads nowhere is a finding of the file. What a
// resolver mustn't see, and what is outside, gives the same whether it is there or not.
func TestMissingImports(t *testing.T) {
	const outside, hidden = ", which is outside of this root and not looked at", ", which is hidden here and not looked at"
	want := []string{
		`.claude/CLAUDE.md warning: it imports "there.md", which isn't there`,
		`.claude/rules/a.md warning: it imports "gone.md", which isn't there`,
		`CLAUDE.md info: it imports "../sibling.md"` + outside,
		`CLAUDE.md info: it imports ".mcp.json"` + hidden,
		`CLAUDE.md info: it imports ".ssh/notes.md"` + hidden,
		`CLAUDE.md info: it imports "out.md"` + outside,
		`CLAUDE.md info: it imports "private/notes.md"` + hidden,
		`CLAUDE.md info: it imports "~/notes.md"` + outside,
		`CLAUDE.md warning: it imports "./nothing", which isn't there`,
		`CLAUDE.md warning: it imports "docs/gone.md", which isn't there`,
		`GEMINI.md warning: it imports "./docs/gone.md", which isn't there`,
	}
	for _, there := range [][]string{nil, {".ssh/notes.md = x", ".mcp.json = {}", "private/notes.md = x", "../sibling.md = x", "../out/out.md = x", "../notes.md = x"}} {
		dir := filepath.Join(vfstest.Build(t, []string{"ws/x = x"}), "ws")
		grow(t, dir, slices.Concat(importTree(), there))
		h := newHost(t, host.Options{
			Builtin: module(builtin(t)), Exclude: []string{"private"}, Roots: []host.RootSpec{{Path: dir}}, Home: filepath.Dir(dir),
		})
		report := refresh(t, h)
		if got := importFindings(report.Snapshot, dir); !slices.Equal(got, want) {
			t.Errorf("with %q:\n\t%s\nwant\n\t%s", there, strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
		}
		for _, r := range report.Snapshot.Resources {
			if r.Status != snapshot.StatusOK {
				t.Errorf("%s: %s", r.ID(), r.Status)
			}
		}
	}
}

// grow adds to a tree, in the notation of vfstest.Build for files and links.
func grow(t *testing.T, dir string, lines []string) {
	t.Helper()
	for _, line := range lines {
		name, content, isFile := strings.Cut(line, " = ")
		name, target, _ := strings.Cut(name, " -> ")
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		var err error
		if isFile {
			err = os.WriteFile(path, []byte(content), 0o600)
		} else {
			err = os.Symlink(target, path)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestImportAppears: the finding goes when the file comes, and comes when it goes; what
// is written to it is nothing to the file that imports it.
func TestImportAppears(t *testing.T) {
	dir := vfstest.Build(t, []string{"CLAUDE.md = @docs/a.md"})
	h := newHost(t, host.Options{Builtin: module(builtin(t)), Roots: []host.RootSpec{{Path: dir}}})
	running(t, h)
	missing := func(want bool) func(*snapshot.Snapshot) bool {
		return func(s *snapshot.Snapshot) bool {
			return len(s.Resources) == 1 && len(importFindings(s, dir)) == 1 == want
		}
	}
	awaitSnapshot(t, h, "missing", missing(true))
	grow(t, dir, []string{"docs/a.md = a"})
	s := awaitSnapshot(t, h, "there", missing(false))
	grow(t, dir, []string{"docs/a.md = longer"})
	if report := refresh(t, h); report.Changed || report.Snapshot.Version != s.Version {
		t.Errorf("an edit of the imported file makes version %d of %d", report.Snapshot.Version, s.Version)
	}
	if err := os.RemoveAll(filepath.Join(dir, "docs")); err != nil {
		t.Fatal(err)
	}
	awaitSnapshot(t, h, "gone again", missing(true))
}
