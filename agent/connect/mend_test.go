package connect_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waymark/agent/connect"
	"waymark/host/codingagents"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestRefused: what a change refuses leaves everything as it was.
func TestRefused(t *testing.T) {
	t.Parallel()
	insert := func(at string) codingagents.Mend {
		return codingagents.Mend{Action: codingagents.MendInsert, Path: at, Text: "@AGENTS.md\n\n"}
	}
	for name, c := range map[string]struct {
		make func(t *testing.T, dir, outside string) codingagents.Mend
		want string
	}{
		"a directory that is a link out": {func(t *testing.T, dir, outside string) codingagents.Mend {
			if err := os.Symlink(outside, filepath.Join(dir, ".claude")); err != nil {
				t.Fatal(err)
			}
			return codingagents.Mend{Action: codingagents.MendCreate, Path: filepath.Join(dir, ".claude", "CLAUDE.md"), Text: "x"}
		}, "escapes"},
		"a file that is a link out": {func(t *testing.T, dir, outside string) codingagents.Mend {
			write(t, filepath.Join(outside, "CLAUDE.md"), "outside")
			if err := os.Symlink(filepath.Join(outside, "CLAUDE.md"), filepath.Join(dir, "CLAUDE.md")); err != nil {
				t.Fatal(err)
			}
			return insert(filepath.Join(dir, "CLAUDE.md"))
		}, "isn't a regular file"},
		"a path above": {func(_ *testing.T, dir, _ string) codingagents.Mend {
			return codingagents.Mend{Action: codingagents.MendCreate, Path: filepath.Join(dir, "../x.md"), Text: "x"}
		}, "doesn't lie in the project"},
		"a file that came meanwhile": {func(t *testing.T, dir, _ string) codingagents.Mend {
			write(t, filepath.Join(dir, "GEMINI.md"), "mine")
			return codingagents.Mend{Action: codingagents.MendLink, Path: filepath.Join(dir, "GEMINI.md"), Target: "AGENTS.md"}
		}, "exists by now"},
		"a file that is gone": {func(_ *testing.T, dir, _ string) codingagents.Mend {
			return insert(filepath.Join(dir, "CLAUDE.md"))
		}, "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, outside := t.TempDir(), t.TempDir()
			m := c.make(t, dir, outside)
			before := tree(t, dir) + tree(t, outside)
			err := connect.ProjectIn(dir, filepath.Join(t.TempDir(), "state")).Make(t.Context(), &m)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v; want %q", err, c.want)
			}
			if after := tree(t, dir) + tree(t, outside); after != before {
				t.Errorf("it left\n%s\nand not\n%s", after, before)
			}
		})
	}
}

// tree spells all files below a directory.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		b.WriteString(path + " " + e.Type().String())
		if e.Type().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			b.Write(data)
		}
		b.WriteByte('\n')
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestUndo: changes are taken back in the reverse order, byte for byte, and not if somebody
// has edited the file since.
func TestUndo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "AGENTS.md"), "rules")
	write(t, filepath.Join(dir, "CLAUDE.md"), "no line end")
	if err := os.Chmod(filepath.Join(dir, "CLAUDE.md"), 0o640); err != nil {
		t.Fatal(err)
	}
	before := tree(t, dir)
	p := connect.ProjectIn(dir, filepath.Join(t.TempDir(), "state"))
	for _, m := range []codingagents.Mend{
		{Action: codingagents.MendInsert, Path: filepath.Join(dir, "CLAUDE.md"), Text: "@AGENTS.md\n\n"},
		{Action: codingagents.MendLink, Path: filepath.Join(dir, ".claude/skills/one"), Target: "../../.agents/skills/one"},
		{Action: codingagents.MendCreate, Path: filepath.Join(dir, "GEMINI.md"), Text: "@AGENTS.md\n"},
	} {
		if err := p.Make(t.Context(), &m); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(filepath.Join(dir, "CLAUDE.md")); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the mode is %v, %v", info.Mode(), err)
	}
	write(t, filepath.Join(dir, "GEMINI.md"), "edited")
	if _, err := p.Undo(); err == nil || !strings.Contains(err.Error(), "changed since") {
		t.Errorf("an edited file: %v", err)
	}
	write(t, filepath.Join(dir, "GEMINI.md"), "@AGENTS.md\n")
	for _, want := range []string{"GEMINI.md", ".claude/skills/one", "CLAUDE.md", ""} {
		if path, err := p.Undo(); path != want || err != nil {
			t.Errorf("undid %q, %v; want %q", path, err, want)
		}
	}
	if after := tree(t, dir); after != before {
		t.Errorf("it left\n%s\nand not\n%s", after, before)
	}
}
