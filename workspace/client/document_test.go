package client_test

import (
	"os"
	"strings"
	"testing"
)

// TestDocument: the Go code of docs/chats.md is that of the examples, which are
// compiled and run.
func TestDocument(t *testing.T) {
	page, err := os.ReadFile("../../docs/chats.md")
	if err != nil {
		t.Fatal(err)
	}
	examples, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	code := flat(string(examples))
	blocks := strings.Split(string(page), "```go\n")[1:]
	if len(blocks) < 5 {
		t.Errorf("there are %d blocks", len(blocks))
	}
	for _, b := range blocks {
		block, _, ended := strings.Cut(b, "```")
		if !ended || !strings.Contains(code, flat(block)) {
			t.Errorf("this is in no example:\n%s", block)
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
