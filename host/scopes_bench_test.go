package host_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"waymark/host"
	"waymark/snapshot"
)

// BenchmarkScopes: a refresh after which nothing has changed, and one without memos, of a
// workspace of 30 directories: alone, with projects looked for, with a home directory
// without anything of agents, and with one that has some of it.
func BenchmarkScopes(b *testing.B) {
	dir := b.TempDir()
	for i := range 30 {
		if err := os.MkdirAll(filepath.Join(dir, "work", fmt.Sprintf("d%d", i)), 0o700); err != nil {
			b.Fatal(err)
		}
	}
	put(b, filepath.Join(dir, "work/AGENTS.md"), "# Agents")
	put(b, filepath.Join(dir, "empty/.bashrc"), "x")
	put(b, filepath.Join(dir, "home/.claude/CLAUDE.md"), "x")
	put(b, filepath.Join(dir, "home/.codex/AGENTS.md"), "x")
	work := host.RootSpec{Path: filepath.Join(dir, "work")}
	home := func(name string) host.RootSpec {
		return host.RootSpec{Path: filepath.Join(dir, name), Scope: snapshot.ScopeUser}
	}
	looked := work
	looked.Children = true
	for _, tt := range []struct {
		name  string
		roots []host.RootSpec
	}{
		{"alone", []host.RootSpec{work}},
		{"projects", []host.RootSpec{looked}},
		{"empty-home", []host.RootSpec{home("empty"), work}},
		{"home", []host.RootSpec{home("home"), work}},
	} {
		for _, noMemo := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/clean=%v", tt.name, noMemo), func(b *testing.B) {
				h := benchHost(b, host.Options{Roots: tt.roots, NoMemo: noMemo})
				refresh := func() {
					if _, err := h.Refresh(b.Context()); err != nil {
						b.Fatal(err)
					}
				}
				refresh()
				b.ReportAllocs()
				var took, cpu []time.Duration
				for b.Loop() {
					if noMemo {
						h.Settle(b.Context())
					}
					before := cpuTime(b)
					took = append(took, timed(refresh))
					cpu = append(cpu, cpuTime(b)-before)
				}
				report(b, "refresh", median(took))
				report(b, "cpu", median(cpu))
			})
		}
	}
}
