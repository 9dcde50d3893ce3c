package vfs_test

import (
	"strings"
	"testing"

	"waymark/host/vfs"
)

func TestNames(t *testing.T) {
	root, err := vfs.OpenRoot(t.TempDir(), vfs.RootOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, tt := range []struct{ reads, dir, want string }{
		{"AGENTS.md CLAUDE.md", ".", "AGENTS.md CLAUDE.md"},
		{"AGENTS.md", "sub", ""},
		{"skills/*/SKILL.md .agents/skills/*/SKILL.md", ".", ".agents skills"},
		{"skills/*/SKILL.md .agents/skills/*/SKILL.md", "skills", "any"},
		{"skills/*/SKILL.md", "skills/foo", "SKILL.md"},
		{"docs/**", ".", "docs"},
		{"docs/**", "docs", "any"},
		{"docs/**", "docs/deep/down", "any"},
		{"**/x.md", ".", "any"},
		{"{a,b}/c", ".", "a b"},
		{"*.md a", ".", "any"},
		{"a?", ".", "any"},
		{"", ".", ""},
	} {
		f, err := vfs.View{Reads: strings.Fields(tt.reads)}.Compile()
		if err != nil {
			t.Fatal(err)
		}
		names, all := root.Names(f, tt.dir)
		got := strings.Join(names, " ")
		if all {
			got = "any"
		}
		if got != tt.want {
			t.Errorf("%s in %s: %q, want %q", tt.reads, tt.dir, got, tt.want)
		}
	}
}
