package text_test

import (
	"io"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"waymark/internal/text"
)

func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"plain text, äöü ☃":   "plain text, äöü ☃",
		"a\nb\tc\x1b[31m\x7f": "a\uFFFDb\uFFFDc\uFFFD[31m\uFFFD",
		"bad \xff\xfe bytes":  "bad \uFFFD bytes",
		"\u202egnp.exe":       "\uFFFDgnp.exe",
		"":                    "",
	} {
		if got := text.Printable(in); got != want {
			t.Errorf("Printable(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestLine(t *testing.T) {
	for _, c := range []struct {
		in    string
		limit int
		want  string
	}{
		{"  two\n\tlines \r\n", 100, "two lines"},
		{"no\u200bthing \u202eseen\x00", 100, "nothing seen"},
		{"bad \xff byte", 100, "bad \uFFFD byte"},
		{"exactly ten", 11, "exactly ten"},
		{"exactly ten", 10, "exactly…"},
		{"äöüäöü", 8, "äö…"},
		{strings.Repeat(" ", 1000) + "far behind", 20, ""},
	} {
		if got := text.Line(c.in, c.limit); got != c.want {
			t.Errorf("Line(%q, %d) = %q, want %q", c.in, c.limit, got, c.want)
		}
	}
}

func TestCutAndTruncate(t *testing.T) {
	for _, c := range []struct {
		in              string
		limit           int
		cut, truncation string
	}{
		{"abc", 3, "abc", "abc"},
		{"abcd", 3, "…", "abc"},
		{"abcd", 2, "", "ab"},
		{"äöü", 5, "ä…", "äö"},
		{"äöü", 1, "", ""},
		{"ab", 0, "", ""},
		{"ab", -1, "", ""},
		{"", 0, "", ""},
	} {
		if got := text.Cut(c.in, c.limit); got != c.cut {
			t.Errorf("Cut(%q, %d) = %q, want %q", c.in, c.limit, got, c.cut)
		}
		if got := text.Truncate(c.in, c.limit); got != c.truncation {
			t.Errorf("Truncate(%q, %d) = %q, want %q", c.in, c.limit, got, c.truncation)
		}
	}
}

func TestCount(t *testing.T) {
	if got := text.Count(1, "file", "files") + ", " + text.Count(0, "file", "files"); got != "1 file, 0 files" {
		t.Error(got)
	}
}

func TestHead(t *testing.T) {
	h := &text.Head{Max: 5}
	for _, s := range []string{"abc", "", "def", "ghi"} {
		if n, err := io.WriteString(h, s); n != len(s) || err != nil {
			t.Errorf("Write(%q) = %d, %v", s, n, err)
		}
	}
	if h.String() != "abcde" || string(h.Bytes()) != "abcde" {
		t.Errorf("kept %q", h.String())
	}
}

// FuzzLine: whatever comes in, what comes out can be shown and is no longer
// than allowed.
func FuzzLine(f *testing.F) {
	f.Add("a\n\x1b[2Jb\xff", 5)
	f.Add("\u2066x…", 2)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		limit = limit%1000 + 1000
		for name, out := range map[string]string{"Line": text.Line(s, limit), "Cut of Printable": text.Cut(text.Printable(s), limit)} {
			if len(out) > limit || !utf8.ValidString(out) || strings.ContainsFunc(out, func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Errorf("%s(%q, %d) = %q, of %d bytes", name, s, limit, out, len(out))
			}
		}
	})
}

func TestReveal(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                                "",
		"a b\nc é 日本 😀 ⟨":                 "a b\nc é 日本 😀 ⟨",
		"a\tb\rc\x1b[31m\x00":             "a⟨U+0009⟩b⟨U+000D⟩c⟨U+001B⟩[31m⟨U+0000⟩",
		"zero\u200bwidth\u202e":           "zero⟨U+200B⟩width⟨U+202E⟩",
		"tag\U000E0041":                   "tag⟨U+E0041⟩",
		"variation\ufe0f\u180b\U000E0100": "variation⟨U+FE0F⟩⟨U+180B⟩⟨U+E0100⟩",
		"filler\u3164\u115f\u2800\u034f":  "filler⟨U+3164⟩⟨U+115F⟩⟨U+2800⟩⟨U+034F⟩",
		"space\u00a0\u2003\u2028":         "space⟨U+00A0⟩⟨U+2003⟩⟨U+2028⟩",
		"bytes\xff\xfe�":                  "bytes⟨FF⟩⟨FE⟩�",
	} {
		if got := text.Reveal(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
