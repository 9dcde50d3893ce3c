package why_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"waymark/host/why"
)

// BenchmarkExplain asks about 200 skills, and about what isn't one of them.
func BenchmarkExplain(b *testing.B) {
	w := world{tree: []string{"AGENTS.md = a", "sub/x/y/AGENTS.md = n", "README.md = x"}}
	for i := range 200 {
		name := fmt.Sprintf("s%d", i)
		w.tree = append(w.tree, skill("skills/"+name, name))
	}
	dir, in := w.build(b)
	for _, path := range []string{"AGENTS.md", "skills/s150/SKILL.md", "sub/x/y/AGENTS.md", "README.md", "nothing"} {
		b.Run(filepath.Base(path), func(b *testing.B) {
			for b.Loop() {
				why.Explain(in, filepath.Join(dir, path))
			}
		})
	}
}
