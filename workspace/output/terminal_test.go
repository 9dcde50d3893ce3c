package output_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"waymark/workspace/output"
)

// TestRendered: lines are as a terminal shows them at the end.
func TestRendered(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"plain":             {"a\tb\nc\n", "a\tb\nc\n"},
		"Windows":           {"a\r\nb\r\n", "a\nb\n"},
		"a progress bar":    {"10%\r 50%\r100%\ndone\n", "100%\ndone\n"},
		"shorter at last":   {"downloading\rok\n", "okwnloading\n"},
		"erased first":      {"downloading\r\x1b[Kok\n", "ok\n"},
		"a whole line":      {"downloading\x1b[2K\rok\n", "ok\n"},
		"colors and titles": {"\x1b[1;31mred\x1b[0m\x1b]0;title\x07!\x1b(B\n", "red!\n"},
		"a spinner":         {"|\b/\b-\b\\\b done\n", " done\n"},
		"several bars":      {"a 1%\nb 1%\n\x1b[2A\x1b[Ka 100%\n\x1b[Kb 100%\n", "a 100%\nb 100%\n"},
		"erased below":      {"a\nb\nc\x1b[2A\r\x1b[Jx\n", "x\n"},
		"columns":           {"ab\x1b[5Gc\x1b[2Dd\x1b[3Ce", "ab dc  e"},
		"NUL and bells":     {"a\x00b\x07c\x7f\x0e", "abc"},
		"far away":          {"\x1b[999999999Cx\x1b[999999999Bx\x1b[999999999Ax", strings.Repeat(" ", 1000) + "xxx"},
		"cleared":           {"before\n\x1b[2J\x1b[Hafter\n", "before\nafter\n"},
		"half an escape":    {"a\x1b", "a"},
		"not UTF-8":         {"a\xff\r\n", "a\ufffd\n"},
	} {
		if got := string(output.Rendered([]byte(c.in))); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	for in, want := range map[string]bool{"a\r\nb\n\tc": false, "a\rb": true, "\x1b[m": true, "a\x00": true, "ünï": false} {
		if output.Controls(in) != want {
			t.Errorf("%q: %v", in, !want)
		}
	}
}

// FuzzRendered: nothing is left that a terminal would act on.
func FuzzRendered(f *testing.F) {
	f.Add([]byte("a\rb\x1b[K\x1b[3A\x1b[999Gx\n\x1b]0;t\x1b\\"))
	f.Fuzz(func(t *testing.T, data []byte) {
		got := string(output.Rendered(data))
		if output.Controls(got) || strings.Contains(got, "\r") || !utf8.ValidString(got) {
			t.Errorf("%q is shown as %q", data, got)
		}
	})
}
