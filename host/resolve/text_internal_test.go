package resolve

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestSuspiciousText(t *testing.T) {
	for text, want := range map[string]string{
		"":                         "",
		"plain":                    "",
		"\ufeffmark first":         "",
		"not first\ufeff":          "contains 1 invisible characters",
		"a\u200bb\u2060":           "contains 2 invisible characters",
		"\u202e\u2066\u200f\u061c": "contains 4 bidirectional characters",
		"\U000E0001\U000E0041":     "contains 2 tag characters",
		"\u00ad\u202a\U000E007F":   "contains 1 invisible, 1 bidirectional, 1 tag characters",
		"family 👩\u200d👧, ❤\ufe0f": "",
		"می\u200cخواهم":            "",
		"\xff\xad\x80":             "",
	} {
		if got := suspiciousText([]byte(text)); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// FuzzSuspiciousText compares with counting rune by rune.
func FuzzSuspiciousText(f *testing.F) {
	f.Add([]byte("a\u200b\ufeff\u202e\U000E0041\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var invisible, bidi, tags int
		for i, r := range string(data) {
			switch {
			case isBidi(r):
				bidi++
			case r >= 0xE0000 && r <= 0xE007F:
				tags++
			case isInvisible(r) && (r != '\ufeff' || i != 0):
				invisible++
			}
		}
		got := suspiciousText(data)
		if (got == "") != (invisible+bidi+tags == 0) {
			t.Errorf("%q: %q", data, got)
		}
		for n, what := range map[int]string{invisible: "invisible", bidi: "bidirectional", tags: "tag"} {
			if n > 0 && invisible != bidi && bidi != tags && invisible != tags && !strings.Contains(got, fmt.Sprintf("%d %s", n, what)) {
				t.Errorf("%q: %q, want %d %s", data, got, n, what)
			}
		}
	})
}

func FuzzPrintable(f *testing.F) {
	f.Add("a\nb\x00\xff")
	f.Add(strings.Repeat("é", 400))
	f.Fuzz(func(t *testing.T, s string) {
		got := printable(s, maxShown)
		if !utf8.ValidString(got) || strings.ContainsAny(got, "\n\r\x00\x1b") || len(got) > maxShown {
			t.Errorf("%q is printed as %q", s, got)
		}
	})
}
