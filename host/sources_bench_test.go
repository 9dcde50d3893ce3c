package host_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"waymark/host"
)

// BenchmarkSources: a resolve of 4 skills and of further roots with one skill each, all of them
// directories that were never seen before. It also runs in the tree of an earlier version, in
// alternation with which it shows what many roots have become.
func BenchmarkSources(b *testing.B) {
	for _, n := range []int{0, 5, 20, 50} {
		b.Run(fmt.Sprintf("sources=%d", n), func(b *testing.B) {
			parent := b.TempDir()
			roots := []host.RootSpec{{Path: filepath.Join(parent, "project")}}
			for i := range n {
				roots = append(roots, host.RootSpec{Path: filepath.Join(parent, fmt.Sprintf("source-%02d", i))})
			}
			// Directories in the place of others aren't taken for the same.
			replace := func() {
				for i, root := range roots {
					dir := filepath.Join(b.TempDir(), "new")
					skills := 1
					if i == 0 {
						skills = 4
					}
					for s := range skills {
						name := fmt.Sprintf("skill-%02d-%d", i, s)
						file := filepath.Join(dir, "skills", name, "SKILL.md")
						if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
							b.Fatal(err)
						}
						if err := os.WriteFile(file, []byte("---\nname: "+name+"\ndescription: What it is good for\n---\nSome text.\n"), 0o600); err != nil {
							b.Fatal(err)
						}
					}
					if err := os.Rename(root.Path, filepath.Join(b.TempDir(), "old")); err != nil && !os.IsNotExist(err) {
						b.Fatal(err)
					}
					if err := os.Rename(dir, root.Path); err != nil {
						b.Fatal(err)
					}
				}
			}
			replace()
			h := benchHost(b, host.Options{Roots: roots})
			refresh := func() {
				if _, err := h.Refresh(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
			refresh()
			var took, used []time.Duration
			for b.Loop() {
				replace()
				h.Settle(b.Context())
				before := cpuTime(b)
				took = append(took, timed(refresh))
				h.Settle(b.Context()) // the spares that it has used up belong to its cost
				used = append(used, cpuTime(b)-before)
			}
			report(b, "wall", median(took))
			report(b, "cpu", median(used))
		})
	}
}
