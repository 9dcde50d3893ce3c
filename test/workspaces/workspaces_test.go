package workspaces_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"waymark/abi"
	"waymark/plugins/conventions"
	"waymark/test/workspaces"
)

func load(t *testing.T) *workspaces.Workspace {
	t.Helper()
	return loadOne(t, workspaces.FiveAgents)
}

func loadOne(t *testing.T, name string) *workspaces.Workspace {
	t.Helper()
	w, err := workspaces.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// TestListIsRight: each line is what the table says of the path.
func TestListIsRight(t *testing.T) {
	for name, files := range map[string]int{workspaces.FiveAgents: 56, workspaces.OtherAgents: 21} {
		t.Run(name, func(t *testing.T) { listIsRight(t, loadOne(t, name), files) })
	}
}

func listIsRight(t *testing.T, w *workspaces.Workspace, files int) {
	paths := map[string]bool{}
	for _, l := range w.List {
		paths[l.Path] = true
		if !slices.ContainsFunc(w.Files, func(f txtar.File) bool { return f.Name == l.Path }) {
			t.Errorf("%s is not in the workspace", l.Path)
		}
		i := slices.IndexFunc(conventions.All, func(c conventions.Convention) bool { return c.ID == l.Convention })
		if i < 0 {
			t.Errorf("%s: there is no convention %s", l.Path, l.Convention)
			continue
		}
		c := conventions.All[i]
		if !isAt(&c, l.Path) {
			t.Errorf("%s is no place of %s: %q", l.Path, c.ID, c.Places)
		}
		if c.Kind != l.Kind || !slices.Equal(c.Readers, l.Readers) {
			t.Errorf("%s: %s, %q, and %s says %s, %q", l.Path, l.Kind, l.Readers, c.ID, c.Kind, c.Readers)
		}
		if modes := modesOf(&c); !slices.Contains(modes, l.Mode) {
			t.Errorf("%s: mode %q, and %s has %q", l.Path, l.Mode, c.ID, modes)
		}
	}
	if len(paths) != files {
		t.Errorf("%d files, want %d", len(paths), files)
	}
}

// TestListIsComplete: what follows a convention of a project has a line.
func TestListIsComplete(t *testing.T) {
	for _, name := range workspaces.Names {
		t.Run(name, func(t *testing.T) { listIsComplete(t, loadOne(t, name)) })
	}
}

func listIsComplete(t *testing.T, w *workspaces.Workspace) {
	for _, f := range w.Files {
		for i := range conventions.All {
			c := &conventions.All[i]
			listed := slices.ContainsFunc(w.List, func(l workspaces.Line) bool { return l.Path == f.Name && l.Convention == c.ID })
			if c.Scope == conventions.ScopeProject && isAt(c, f.Name) && !listed {
				t.Errorf("%s follows %s, and has no line", f.Name, c.ID)
			}
		}
	}
}

// TestEveryAgentIsThere: the workspace is that of the five, each with something of
// most kinds.
func TestEveryAgentIsThere(t *testing.T) {
	kinds := map[string]map[abi.Kind]bool{}
	for _, l := range load(t).List {
		for _, r := range l.Readers {
			if kinds[r] == nil {
				kinds[r] = map[abi.Kind]bool{}
			}
			kinds[r][l.Kind] = true
		}
	}
	for _, r := range []string{"claude-code", "cursor", "copilot", "codex", "gemini"} {
		for _, kind := range []abi.Kind{abi.KindInstructionFile, abi.KindSkill, abi.KindMCPConfig, abi.KindSubagent, abi.KindHook} {
			if !kinds[r][kind] {
				t.Errorf("%s has no %s", r, kind)
			}
		}
	}
}

// TestTokens: what holds servers or hooks holds the token, so that a test would
// see it where it mustn't be; nothing else does.
func TestTokens(t *testing.T) {
	w := load(t)
	for _, f := range w.Files {
		want := slices.ContainsFunc(w.List, func(l workspaces.Line) bool {
			return l.Path == f.Name && (l.Kind == abi.KindMCPConfig || l.Kind == abi.KindHook)
		})
		if got := bytes.Contains(f.Data, []byte(workspaces.Token)); got != want {
			t.Errorf("%s holds the token: %v, want %v", f.Name, got, want)
		}
	}
}

func TestWrite(t *testing.T) {
	w, dir := load(t), t.TempDir()
	if err := w.Write(dir); err != nil {
		t.Fatal(err)
	}
	for _, f := range w.Files {
		if got, err := os.ReadFile(filepath.Join(dir, f.Name)); err != nil || !bytes.Equal(got, f.Data) {
			t.Errorf("%s: %q, %v", f.Name, got, err)
		}
	}
}

// TestCompare: what was all found has no differences, and each one is told.
func TestCompare(t *testing.T) {
	w := load(t)
	all := func() (found []workspaces.Found) {
		for _, l := range w.List {
			if l.Kind != "" {
				found = append(found, workspaces.Found{Kind: l.Kind, Source: l.Source(), Convention: l.Convention, Readers: l.Readers, Mode: l.Mode})
			}
		}
		return found
	}
	if d := w.Compare(all()); len(d) > 0 {
		t.Errorf("the list differs from itself: %q", d)
	}
	for name, c := range map[string]struct {
		change func(f []workspaces.Found) []workspaces.Found
		want   string
	}{
		"missing":    {func(f []workspaces.Found) []workspaces.Found { return f[1:] }, "instruction_file of AGENTS.md (agents-md) was not found"},
		"mode":       {func(f []workspaces.Found) []workspaces.Found { f[7].Mode = ""; return f }, `instruction_file of .cursor/BUGBOT.md: mode "always", want "manual"`},
		"readers":    {func(f []workspaces.Found) []workspaces.Found { f[1].Readers = nil; return f }, `instruction_file of AGENTS.override.md: readers [], want ["codex" "grok"]`},
		"convention": {func(f []workspaces.Found) []workspaces.Found { f[1].Convention = ""; return f }, `instruction_file of AGENTS.override.md: convention "", want "agents-override-md"`},
		"too much": {func(f []workspaces.Found) []workspaces.Found {
			return append(f, workspaces.Found{Kind: abi.KindSkill, Source: "docs"})
		}, "skill of docs is not on the list"},
	} {
		if diff := cmp.Diff([]string{c.want}, w.Compare(c.change(all()))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	// Several resources of one file are as good as one, and none of a known file is
	// expected.
	found := all()
	if d := w.Compare(append(found, found[len(found)-1])); len(d) > 0 {
		t.Errorf("two hooks of one file: %q", d)
	}
	if d := w.Compare(nil); len(d) != len(found) || slices.ContainsFunc(d, func(s string) bool { return strings.Contains(s, ".cursorignore") }) {
		t.Errorf("nothing found: %d differences, want %d: %q", len(d), len(found), d)
	}
}

func isAt(c *conventions.Convention, path string) bool {
	return slices.ContainsFunc(c.Places, func(place string) bool {
		ok, err := doublestar.Match(place, path)
		return ok && err == nil
	})
}

// modesOf are the modes that a file of a convention can have.
func modesOf(c *conventions.Convention) []string {
	if c.Kind != abi.KindInstructionFile {
		return []string{""}
	}
	a := c.Applies
	modes := []string{a.Mode, a.Described}
	if a.Mode == "" {
		modes[0] = "always"
	}
	if a.GlobsKey != "" {
		modes = append(modes, "glob", "always")
	}
	if a.AlwaysKey != "" {
		modes = append(modes, "always")
	}
	for _, w := range a.Words {
		modes = append(modes, w.Mode)
	}
	return modes
}
