package frontmatter_test

import (
	"errors"
	"testing"

	"waymark/sdk-guest/frontmatter"
)

func TestFind(t *testing.T) {
	const none, open = "none", "open"
	tests := []struct {
		name, text, block, rest, err string
	}{
		{"plain", "---\na: b\n---\nbody\n", "a: b\n", "body\n", ""},
		{"empty block", "---\n---\n", "", "", ""},
		{"closing at the end without line end", "---\na: b\n---", "a: b\n", "", ""},
		{"byte order mark", "\ufeff---\na: b\n---\n", "a: b\n", "", ""},
		{"CRLF", "---\r\na: b\r\n---\r\nbody", "a: b\r\n", "body", ""},
		{"blanks around", " --- \t\na: b\n\t---  \nbody", "a: b\n", "body", ""},
		{"delimiter within a line", "---\na: x --- y\n---\n", "a: x --- y\n", "", ""},
		{"longer rule", "---\na: b\n----\n---\n", "a: b\n----\n", "", ""},
		{"dots don't close", "---\na: b\n...\n---\n", "a: b\n...\n", "", ""},
		{"delimiter with text", "--- yaml\na: b\n---\n", "", "", none},
		{"blank line first", "\n---\na: b\n---\n", "", "", none},
		{"text first", "# Title\n---\na: b\n---\n", "", "", none},
		{"empty", "", "", "", none},
		{"only a byte order mark", "\ufeff", "", "", none},
		{"unclosed", "---\na: b\n", "", "", open},
		{"only the opening", "---", "", "", open},
		{"two dashes", "--\na: b\n--\n", "", "", none},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			block, rest, err := frontmatter.Find([]byte(tt.text), true)
			switch tt.err {
			case none:
				if !errors.Is(err, frontmatter.ErrNone) {
					t.Fatalf("got %v, want ErrNone", err)
				}
			case open:
				if !errors.Is(err, frontmatter.ErrOpen) {
					t.Fatalf("got %v, want ErrOpen", err)
				}
			default:
				if err != nil || string(block) != tt.block || string(rest) != tt.rest {
					t.Fatalf("got %q, %q, %v; want %q, %q", block, rest, err, tt.block, tt.rest)
				}
			}
		})
	}
}

// TestFindHead says that a head never gives another answer than the whole
// file, only "not yet".
func TestFindHead(t *testing.T) {
	for _, text := range []string{
		"---\na: b\n---\nbody\n", "---\na: b\n---not\nc: d\n---\n", "  ---  \r\na: b\r\n---\r\n", "# Title\n", "----\n",
	} {
		block, _, err := frontmatter.Find([]byte(text), true)
		for n := range len(text) {
			got, _, headErr := frontmatter.Find([]byte(text[:n]), false)
			if errors.Is(headErr, frontmatter.ErrOpen) {
				continue
			}
			if string(got) != string(block) || !errors.Is(headErr, err) {
				t.Errorf("%q: %q, %v; the whole file says %q, %v", text[:n], got, headErr, block, err)
			}
		}
	}
}
