package host_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"waymark/host"
	"waymark/snapshot"
	"waymark/test/contracts/vfstest"
)

// TestHomeLinksOut: the user's files may be links that lead out of the home, to files and
// directories and over further links, as programs make them that keep dotfiles elsewhere. They
// don't lead to secrets, to the agent's own files or to what isn't a file, and links of a
// workspace don't lead out of that.
func TestHomeLinksOut(t *testing.T) {
	t.Parallel()
	dir := vfstest.Build(t, []string{
		"store/1-home/CLAUDE.md -> ../2-text/CLAUDE.md", "store/2-text/CLAUDE.md = mine",
		"store/1-home/skills/s/SKILL.md -> ../../../3-skill", "store/3-skill = ---\nname: s\ndescription: d\n---\n",
		"store/.env = " + secret, "store/id_rsa = " + secret, "own/AGENTS.md = " + secret,
		"work/AGENTS.md = work", "work/other.md = other", "work/rules/in.md -> ../other.md", "work/rules/out.md -> ../../store/2-text/CLAUDE.md", "work/.git/config = " + secret,
		"home/.codex/AGENTS.md -> ../../store/.env", "home/.qwen/QWEN.md -> ../../work/.git/config", "home/.gemini/GEMINI.md -> ../../own/AGENTS.md",
		"home/.claude/agents/", "home/.agents/AGENTS.md -> ../../store", "home/.config/zed/AGENTS.md -> ../../../gone",
	})
	for name, to := range map[string]string{
		"home/.claude/CLAUDE.md": "store/1-home/CLAUDE.md", "home/.claude/skills": "store/1-home/skills",
		"home/.claude/rules": "work/rules", "home/.kilo": "work/.kilo",
	} {
		if err := os.Symlink(filepath.Join(dir, to), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"home/.config/amp/AGENTS.md": "/proc/self/environ", "home/.grok/AGENTS.md": "/dev/zero"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	work := filepath.Join(dir, "work")
	h := newHost(t, host.Options{Builtin: module(builtin(t)), Own: []string{filepath.Join(dir, "own")}, Watch: slow, Roots: []host.RootSpec{
		{Path: filepath.Join(dir, "home"), Scope: snapshot.ScopeUser, Optional: true, Within: []string{work}}, {Path: work},
	}})
	running(t, h)
	ok := func(s *snapshot.Snapshot) (list []string) {
		for i := range s.Resources {
			r := &s.Resources[i]
			if strings.Contains(string(r.Payload), secret) || strings.Contains(string(r.Payload), "PATH=") {
				t.Errorf("%s is shown: %q", r.ID(), r.Payload)
			}
			if r.Status == snapshot.StatusOK {
				list = append(list, relative(r.ID(), dir)+" "+string(r.Scope)+" "+string(r.Payload[:min(4, len(r.Payload))]))
			}
		}
		slices.Sort(list)
		return list
	}
	want := []string{
		"instruction_file:store/2-text/CLAUDE.md user mine", "instruction_file:work/AGENTS.md project work", "instruction_file:work/other.md user othe", "skill:store/1-home/skills/s user ---\n",
	}
	compare(t, "what leads out", ok(awaitSnapshot(t, h, "a snapshot", func(s *snapshot.Snapshot) bool { return s.Version > 0 })), want)
	if err := os.WriteFile(filepath.Join(dir, "store/2-text/CLAUDE.md"), []byte("edit"), 0o600); err != nil {
		t.Fatal(err)
	}
	want[0] = "instruction_file:store/2-text/CLAUDE.md user edit"
	awaitSnapshot(t, h, "an edit there", func(s *snapshot.Snapshot) bool { return slices.Equal(ok(s), want) })
}
