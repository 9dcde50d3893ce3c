package host_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waymark/host"
	"waymark/test/contracts/vfstest"
)

// TestMemo: what is run again after an edit, and because of which path. No
// event tells it: the traces do.
func TestMemo(t *testing.T) {
	t.Parallel()
	dir := vfstest.Build(t, []string{"AGENTS.md = a", "CLAUDE.md -> docs/rules.md", "docs/rules.md = r", skill("skills/one", "one"), "src/main.go = x"})
	at := func(path string) string { return filepath.Join(dir, path) }
	h := newHost(t, host.Options{Builtin: module(builtin(t)), Roots: []host.RootSpec{{Path: dir}}})
	steps := []struct {
		name string
		do   func() error
		want string // what ran, and why
	}{
		{"first", func() error { return nil }, "context: ; hooks: ; mcp-config: "},
		{"nothing", func() error { return nil }, ""},
		{"an edit that nobody reads", func() error { return os.WriteFile(at("src/main.go"), []byte("y"), 0o600) }, ""},
		{"a file beside", func() error { return os.WriteFile(at("README.md"), []byte("y"), 0o600) }, ""},
		{"an edit of the same size", func() error { return os.WriteFile(at("AGENTS.md"), []byte("b"), 0o600) }, "context: AGENTS.md"},
		{"an edit behind a link", func() error { return os.WriteFile(at("docs/rules.md"), []byte("more"), 0o600) }, "context: docs/rules.md"},
		{"written as it was", func() error { return os.WriteFile(at("docs/rules.md"), []byte("more"), 0o600) }, ""},
		{"a new skill", func() error { return os.Mkdir(at("skills/two"), 0o700) }, "context: skills"},
		{"its text", func() error { return os.WriteFile(at("skills/two/SKILL.md"), []byte("x"), 0o600) }, "context: skills/two/SKILL.md"},
		{"a container", func() error { return os.MkdirAll(at(".claude/skills"), 0o700) }, "context: .; hooks: ."},
		{"what was missing", func() error { return os.WriteFile(at(".mcp.json"), []byte("{}"), 0o600) }, "mcp-config: ."},
	}
	for _, step := range steps {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		var ran []string
		for _, o := range refresh(t, h).Outcomes {
			if !o.Reused {
				ran = append(ran, strings.TrimPrefix(o.Resolver, "waymark/")+": "+o.Changed)
			}
		}
		if got := strings.Join(ran, "; "); got != step.want {
			t.Errorf("%s: ran %q, want %q", step.name, got, step.want)
		}
	}
}
