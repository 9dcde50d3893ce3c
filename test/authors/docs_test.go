package authors_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func pages(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob("../../examples/*/README.md")
	if err != nil || len(files) < 3 || len(more) == 0 {
		t.Fatalf("there are %d pages, and %d of examples (%v)", len(files), len(more), err)
	}
	texts := map[string]string{}
	for _, f := range append(files, more...) {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		texts[f] = string(text)
	}
	return texts
}

// TestLinks: what the pages refer to in this repository is there.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#]+)(#[^)]*)?\)`)
	for page, text := range pages(t) {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), m[1])); err != nil {
				t.Errorf("%s: %v", page, err)
			}
		}
	}
}

// TestConfigurations: what the pages show of plugin.toml, the agent takes.
func TestConfigurations(t *testing.T) {
	h, seen := newHome(t), 0
	for page, text := range pages(t) {
		for _, m := range regexp.MustCompile("(?s)```toml\n(.*?)```").FindAllStringSubmatch(text, -1) {
			file := filepath.Join(h.dir, "plugin.toml")
			if err := os.WriteFile(file, []byte(m[1]), 0o600); err != nil {
				t.Fatal(err)
			}
			if out, err := h.command(t.Context(), h.dir, "agent", "config", "check", file).CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s\n%s", page, err, m[1], out)
			}
			seen++
		}
	}
	if seen < 2 {
		t.Errorf("the pages show %d configurations: the test looks at the wrong place", seen)
	}
}
