package conform_test

import (
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/bmatcuk/doublestar/v4"

	"waymark/cmd/harness/internal/conform"
)

func TestPaths(t *testing.T) {
	for _, c := range []struct {
		pattern string
		want    []string // among others, when it ends in …
	}{
		{"AGENTS.md", []string{"AGENTS.md"}},
		{".cursor/rules/*.mdc", []string{".cursor/rules/alpha.mdc", ".cursor/rules/beta.mdc"}},
		{"skills/*/SKILL.md", []string{"skills/alpha/SKILL.md", "skills/beta/SKILL.md"}},
		{"{a,b/{c,d}}.md", []string{"a.md", "b/c.md", "b/d.md"}},
		{"v[0-9]?[!a].x", []string{"v0x0.x"}},
		{"**/AGENTS.md", []string{"AGENTS.md", "pkg/AGENTS.md", "pkg/inner/AGENTS.md"}},
		{"docs/**", []string{"docs/alpha.md", "docs/alpha.mdc", "docs/pkg/inner/beta.md", "…"}},
		{"**", []string{"SKILL.md", "alpha.json", "pkg/alpha.md", "…"}},
		{"*", []string{"alpha", "alpha.yaml", "…"}},
		{"a**b", []string{"aalphab", "abetab"}},
		{"[unclosed", nil},
		{"{a,b", nil},
		{"../up", nil},
		{"/abs", nil},
		{"", nil},
	} {
		got := conform.MatchingPaths(c.pattern)
		if n := len(c.want); n > 0 && c.want[n-1] == "…" {
			for _, p := range c.want[:n-1] {
				if !slices.Contains(got, p) {
					t.Errorf("%q: %q isn't among %q", c.pattern, p, got)
				}
			}
			continue
		}
		if !slices.Equal(got, c.want) && len(got)+len(c.want) > 0 {
			t.Errorf("%q: %q, want %q", c.pattern, got, c.want)
		}
	}
}

// FuzzPaths: whatever the pattern, the paths match it, can be made, and are few.
func FuzzPaths(f *testing.F) {
	for _, p := range []string{
		"", "a", "**", "*", "**/*.md", "a/{b,c{d,e}}/[x-z]?", "[!a]", "[^]]", `\*`, "{", "}", "{,}", "[", "a//b", "./a", "a/../b", "{a,b}/**/{c,..}",
		strings.Repeat("{a,b}", 60), strings.Repeat("**/", 200) + "x", strings.Repeat("{", 100) + strings.Repeat("}", 100),
	} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, pattern string) {
		if len(pattern) > 1024 {
			return // more than a host takes
		}
		paths := conform.MatchingPaths(pattern)
		if len(paths) > conform.Max || !slices.IsSorted(paths) {
			t.Errorf("%d paths, or not in order: %q", len(paths), paths)
		}
		for _, p := range paths {
			if ok, err := doublestar.Match(pattern, p); !ok || err != nil {
				t.Errorf("%q doesn't match %q (%v)", pattern, p, err)
			}
			if p != path.Clean(p) || path.IsAbs(p) || strings.HasPrefix(p, "..") && (p == ".." || p[2] == '/') {
				t.Errorf("%q gives %q", pattern, p)
			}
		}
	})
}
