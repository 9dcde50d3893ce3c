package host_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waymark/host"
	"waymark/snapshot"
	"waymark/test/contracts/vfstest"
)

// TestBody: what is listed without its text can be had, and nothing that mayn't be seen.
func TestBody(t *testing.T) {
	long := strings.Repeat("x", 300<<10)
	dir := vfstest.Build(t, []string{
		"outside/secret.md = secret", "w/.env = secret", "w/.mcp.json = " + long,
		"w/AGENTS.md = of w", "w/CLAUDE.md = " + long, "w/.cursorrules # 1048577",
		skill("w/skills/one", "one"), skill("w/skills/two", "two"),
	})
	w := filepath.Join(dir, "w")
	h := newHost(t, host.Options{Builtin: module(builtin(t)), Roots: []host.RootSpec{{Path: w}}, Caps: snapshot.Caps{MaxResources: 4}})
	refresh(t, h)
	body := func(id string) string {
		t.Helper()
		kind, path, _ := strings.Cut(id, ":")
		data, err := h.Body(t.Context(), kind+":"+filepath.Join(w, path))
		if err != nil {
			t.Errorf("%s: %v", id, err)
		}
		return string(data)
	}
	statuses := tallyOf(h.Current())
	if statuses[snapshot.StatusExcluded] != 2 || statuses[snapshot.StatusOversize] != 3 {
		t.Fatalf("statuses %v", statuses)
	}
	for id, want := range map[string]string{
		"instruction_file:AGENTS.md": "of w", "instruction_file:CLAUDE.md": long, "skill:skills/two": "name: two", "skill:skills/one": "name: one",
	} {
		if got := body(id); !strings.Contains(got, want) {
			t.Errorf("%s: %d bytes, want %d", id, len(got), len(want))
		}
	}
	for _, id := range []string{"instruction_file:.cursorrules", "mcp_config:.mcp.json", "skill:skills/three", "skill:../AGENTS.md"} {
		if got := body(id); got != "" {
			t.Errorf("%s: %.20q", id, got)
		}
	}
	// What has become something else since is looked at as it is now.
	link(t, "../../../outside/secret.md", filepath.Join(w, "skills/two/SKILL.md"))
	if got := body("skill:skills/two"); got != "" {
		t.Errorf("a link out of the root: %.20q", got)
	}
	link(t, ".env", filepath.Join(w, "CLAUDE.md"))
	if got := body("instruction_file:CLAUDE.md"); got != "" {
		t.Errorf("a link to a secret: %.20q", got)
	}
}

// link puts a link in the place of a file.
func link(t *testing.T, target, path string) {
	t.Helper()
	if err := errors.Join(os.Remove(path), os.Symlink(target, path)); err != nil {
		t.Fatal(err)
	}
}

func tallyOf(s *snapshot.Snapshot) map[snapshot.Status]int {
	n := make(map[snapshot.Status]int)
	for i := range s.Resources {
		n[s.Resources[i].Status]++
	}
	return n
}
