package edit_test

import (
	"fmt"
	"strings"
	"testing"

	"waymark/agentapi"
	"waymark/workspace/files/edit"
)

// BenchmarkApply edits 1 MB: one line in the middle, by each rule, and one that
// isn't there, with its hints.
func BenchmarkApply(b *testing.B) {
	var text strings.Builder
	for i := range 25_000 {
		fmt.Fprintf(&text, "\tthe line with the number %08d  \n", i)
	}
	content := text.String()
	for _, c := range []struct {
		name string
		edit agentapi.Edit
	}{
		{"exact", agentapi.Edit{Search: "number 00012500", Replace: "NUMBER"}},
		{"exact-all", agentapi.Edit{Search: "number", Replace: "NUMBER", ReplaceAll: true}},
		{"trailing", agentapi.Edit{Search: "\tthe line with the number 00012500\n", Replace: "\tx\n"}},
		{"surrounding", agentapi.Edit{Search: "    the line with the number 00012500\n", Replace: "    x\n"}},
		{"surrounding-all", agentapi.Edit{Search: "    the line with the number 00012500\n", Replace: "    x\n", ReplaceAll: true}},
		{"not-there", agentapi.Edit{Search: "the line with the number 00012500\nand more\n", Replace: "    x\n"}},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(content)))
			for b.Loop() {
				_, _, _ = edit.Apply(content, []agentapi.Edit{c.edit})
			}
		})
	}
	b.Run("diff", func(b *testing.B) {
		result, _, err := edit.Apply(content, []agentapi.Edit{{Search: "number 00012500", Replace: "NUMBER"}})
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(len(content)))
		for b.Loop() {
			edit.Diff("f", content, result)
		}
	})
}
