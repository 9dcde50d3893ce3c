package host_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waymark/host"
	"waymark/test/contracts/vfstest"
)

// TestSkillFiles: of a skill its files are shown, and nothing that mayn't be seen.
func TestSkillFiles(t *testing.T) {
	lines := []string{
		"outside/secret.md = secret", "w/.env = secret", "w/docs/a.md = of the workspace",
		skill("w/skills/one", "one"), "w/skills/one/scripts/run.sh = echo", "w/skills/one/references/a/b.md = b",
		"w/skills/one/.env = secret", "w/skills/one/id_rsa = secret", "w/skills/one/.mcp.json = {}",
		"w/skills/one/large.bin # 5000000",
		"w/skills/one/1/2/3/4/5/6/7/8/in.md = in", "w/skills/one/1/2/3/4/5/6/7/8/9/out.md = out",
		skill("w/skills/two", "two"),
	}
	dir := vfstest.Build(t, lines)
	w := filepath.Join(dir, "w")
	one := filepath.Join(w, "skills/one")
	for name, target := range map[string]string{
		"out.md": "../../../outside/secret.md", "env.md": "../../.env", "docs.md": "../../docs/a.md", "inside.md": "references/a/b.md", "dir": "references",
	} {
		if err := os.Symlink(target, filepath.Join(one, name)); err != nil {
			t.Fatal(err)
		}
	}
	h := newHost(t, host.Options{Builtin: module(builtin(t)), Roots: []host.RootSpec{{Path: w}}})
	refresh(t, h)
	id := "skill:" + one
	files, omitted, err := h.SkillFiles(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		names = append(names, f.Path)
		body, err := h.SkillFile(t.Context(), id, f.Path)
		if err != nil || int64(len(body)) != f.Size || len(f.Hash) != 32 {
			t.Errorf("%s: %d bytes of %d, %v", f.Path, len(body), f.Size, err)
		}
	}
	if got, want := strings.Join(names, " "), "1/2/3/4/5/6/7/8/in.md SKILL.md inside.md references/a/b.md scripts/run.sh"; got != want {
		t.Errorf("the skill has %s, not %s", got, want)
	}
	if omitted < 5 { // three links, a directory that is too deep, and the large file
		t.Errorf("%d are left out", omitted)
	}
	for _, name := range []string{
		".env", "id_rsa", ".mcp.json", "large.bin", "out.md", "env.md", "docs.md", "dir", "references", "dir/a/b.md", "nothing", "",
		"../two/SKILL.md", "/etc/passwd", "references/../SKILL.md", "./SKILL.md", "1/2/3/4/5/6/7/8/9/out.md",
	} {
		// By a link inside of the skill a file may be read that is listed under another name.
		if body, err := h.SkillFile(t.Context(), id, name); !errors.Is(err, host.ErrNoSkill) && name != "dir/a/b.md" {
			t.Errorf("%q: %.20q, %v", name, body, err)
		}
	}
	for _, id := range []string{"skill:" + filepath.Join(w, "skills/three"), "instruction_file:" + one, "skill:" + w, ""} {
		if _, _, err := h.SkillFiles(t.Context(), id); !errors.Is(err, host.ErrNoSkill) {
			t.Errorf("%q: %v", id, err)
		}
	}
	// More than are listed.
	for i := range 600 {
		if err := os.WriteFile(filepath.Join(w, "skills/two", fmt.Sprintf("f%03d", i)), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	files, omitted, err = h.SkillFiles(t.Context(), "skill:"+filepath.Join(w, "skills/two"))
	if err != nil || len(files) != 512 || omitted != 89 {
		t.Errorf("%d files, %d left out, %v", len(files), omitted, err)
	}
	// A directory that has become a link out of the workspace.
	if err := errors.Join(os.RemoveAll(one), os.Symlink(filepath.Join(dir, "outside"), one)); err != nil {
		t.Fatal(err)
	}
	if files, _, err := h.SkillFiles(t.Context(), id); !errors.Is(err, host.ErrNoSkill) {
		t.Errorf("through a link out of the root: %+v, %v", files, err)
	}
	if body, err := h.SkillFile(t.Context(), id, "secret.md"); !errors.Is(err, host.ErrNoSkill) {
		t.Errorf("through a link out of the root: %q, %v", body, err)
	}
}
