package authors_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"waymark/test/authors"
)

// TestReadme follows the README's "Your first resolver": its commands, to the
// letter, and then the resolver that it shows, in the place of the scaffold's.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, chapter, ok := strings.Cut(string(readme), "## Your first resolver")
	if !ok {
		t.Fatal("the README has no such chapter")
	}
	chapter, _, _ = strings.Cut(chapter, "\n## ")
	steps, err := authors.Parse(chapter)
	if err != nil || len(steps) != 1 {
		t.Fatalf("the chapter has %d blocks of commands, %v", len(steps), err)
	}
	h := newHome(t)
	put := func(name, text string) {
		t.Helper()
		name = filepath.Join(h.dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("project/.acme-rules/style.md", "Be brief.\n")
	put("project/ACME.md", "# Use anvils\n")
	if out := h.sh(t, h.dir, steps[0].Text); !strings.Contains(out, "style.md") {
		t.Errorf("harness run doesn't show what is found:\n%s", out)
	}
	if out := h.sh(t, h.dir, "agent resolve project"); !strings.Contains(out, "style.md") {
		t.Errorf("the agent doesn't use what was copied:\n%s", out)
	}

	_, code, _ := strings.Cut(chapter, "```go\n")
	code, _, _ = strings.Cut(code, "```")
	put("acme-rules/resolver.go", "package main\n\nimport (\n\t\"errors\"\n\t\"io/fs\"\n\n\tguest \"waymark/sdk-guest\"\n)\n\nconst rulesDir = \".\"\n\n"+code)
	if err := os.Remove(filepath.Join(h.dir, "acme-rules", "resolver_test.go")); err != nil {
		t.Fatal(err)
	}
	out := h.sh(t, filepath.Join(h.dir, "acme-rules"), "sed -i 's|rulesDir + \"/\\*.md\"|\"ACME.md\"|' main.go && harness build && harness run acme-rules.wasm ~/project")
	if !strings.Contains(out, "ACME.md") || strings.Contains(out, "style.md") {
		t.Errorf("the README's resolver finds something else:\n%s", out)
	}
}

// sh runs commands and returns what they print; they must succeed.
func (h *home) sh(t *testing.T, dir, script string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-euc", script)
	cmd.Dir, cmd.Env = dir, h.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}
