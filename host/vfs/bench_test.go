package vfs_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"waymark/host/vfs"
	"waymark/test/contracts/vfstest"
)

var containers = []string{"skills", ".agents/skills", ".claude/skills", ".codex/skills"}

func skills(b *testing.B, n int) (*vfs.Root, *vfs.Filter) {
	tree := []string{"AGENTS.md = 100*x"}
	body := strings.Repeat("x", 8<<10)
	for i := range n {
		tree = append(tree, fmt.Sprintf("%s/skill-%03d/SKILL.md = %s", containers[i%4], i, body))
	}
	root, err := vfs.OpenRoot(vfstest.Build(b, tree), vfs.RootOptions{Now: old})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = root.Close() })
	filter, err := vfs.View{Reads: []string{"{,.agents/,.claude/,.codex/}skills/*/SKILL.md", "*/SKILL.md"}}.Compile()
	if err != nil {
		b.Fatal(err)
	}
	return root, filter
}

// observe does what the skills resolver and the host do.
func observe(b *testing.B, root *vfs.Root, filter *vfs.Filter) []vfs.Dep {
	run := root.Begin(filter, vfs.Limits{})
	defer run.Close()
	head := make([]byte, 4<<10)
	var found []string
	for _, c := range containers {
		d, err := run.Open(c)
		if err != nil {
			b.Fatal(err)
		}
		list, err := d.ReadDir()
		if err != nil {
			b.Fatal(err)
		}
		for _, e := range list {
			path := c + "/" + e.Name + "/SKILL.md"
			f, err := run.Open(path)
			if err != nil {
				b.Fatal(err)
			}
			if n, err := f.ReadAt(head, 0); n != len(head) {
				b.Fatal(err)
			}
			found = append(found, path)
		}
	}
	for _, path := range found {
		if c, err := run.Content(path); err != nil || len(c.Hash) != 32 {
			b.Fatal(err)
		}
	}
	return run.Trace()
}

func BenchmarkRun200Skills(b *testing.B) {
	root, filter := skills(b, 200)
	b.ReportAllocs()
	for b.Loop() {
		observe(b, root, filter)
	}
}

func BenchmarkCheck200Skills(b *testing.B) {
	root, filter := skills(b, 200)
	deps := observe(b, root, filter)
	b.ReportAllocs()
	for b.Loop() {
		if f := root.Check(filter, deps); !f.Fresh {
			b.Fatal(f.Changed)
		}
	}
}

// BenchmarkNaive is the least that reading the same files costs: os.ReadFile
// and os.ReadDir, without any guard.
func BenchmarkNaive200Skills(b *testing.B) {
	root, _ := skills(b, 200)
	for b.Loop() {
		for _, c := range containers {
			list, err := os.ReadDir(root.Path() + "/" + c)
			if err != nil {
				b.Fatal(err)
			}
			for _, e := range list {
				if _, err := os.ReadFile(root.Path() + "/" + c + "/" + e.Name() + "/SKILL.md"); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	for b.Loop() {
		if _, err := (vfs.View{Reads: []string{"AGENTS.md", "{,.agents/}skills/*/SKILL.md"}}).Compile(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLook is what judging names costs, where no file is looked at.
func BenchmarkLook(b *testing.B) {
	root, filter := skills(b, 1)
	for _, name := range []string{"skills/one/other.md", "docs/Read Me/\u00fcber.md"} {
		b.Run(name, func(b *testing.B) {
			run := root.Begin(filter, vfs.Limits{})
			defer run.Close()
			b.ReportAllocs()
			for b.Loop() {
				if _, err := run.Stat(name); err == nil {
					b.Fatal("it is there")
				}
			}
		})
	}
}
