package vfs_test

import (
	"fmt"
	"testing"

	"waymark/host/vfs"
)

// tablePatterns are as many patterns as the table of conventions has places, and of the
// same forms.
func tablePatterns() (patterns []string) {
	for i := range 40 {
		agent := fmt.Sprintf(".agent%02d", i)
		patterns = append(patterns, agent+"/skills/*/SKILL.md", agent+"/rules/**/*.md", agent+"/agents/*.md", agent+"/commands/**/*.md", fmt.Sprintf("AGENT%02d.md", i))
	}
	return patterns
}

// BenchmarkCompileTable: what a view takes that shows the places of a whole table; a start
// makes one for each built-in resolver, whatever the number of roots.
func BenchmarkCompileTable(b *testing.B) {
	for name, view := range map[string]vfs.View{
		"table":   {Reads: tablePatterns()},
		"secrets": {Reads: []string{"a"}, GrantSecrets: []string{".env*"}}, // with a guard of its own
		"small":   {Reads: []string{"AGENTS.md", "CLAUDE.md", ".cursorrules"}},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := view.Compile(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
