package client_test

import (
	"os"
	"strings"
	"testing"
)

// TestDocument: the Go code of docs/chats.md and docs/mcp.md is that of the examples,
// which are compiled and run. Whole programs are those of test/chats.
func TestDocument(t *testing.T) {
	examples, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	code := flat(string(examples))
	for name, least := range map[string]int{"chats.md": 5, "mcp.md": 1} {
		page, err := os.ReadFile("../../docs/" + name)
		if err != nil {
			t.Fatal(err)
		}
		blocks := strings.Split(string(page), "```go\n")[1:]
		if len(blocks) < least {
			t.Errorf("%s has %d blocks", name, len(blocks))
		}
		for _, b := range blocks {
			block, _, ended := strings.Cut(b, "```")
			if whole := strings.HasPrefix(block, "package "); whole {
				continue
			}
			if !ended || !strings.Contains(code, flat(block)) {
				t.Errorf("%s: this is in no example:\n%s", name, block)
			}
		}
	}
}

// flat is code without its indentation.
func flat(code string) string {
	var b strings.Builder
	for line := range strings.Lines(code) {
		b.WriteString(strings.TrimLeft(line, "\t"))
	}
	return b.String()
}
