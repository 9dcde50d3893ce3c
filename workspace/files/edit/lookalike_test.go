package edit_test

import (
	"strings"
	"testing"

	"waymark/agentapi"
	"waymark/workspace/files/edit"
)

// TestLookAlikes: a search that only looks like the file's text isn't made, and the error
// says which character is another one, without quoting letters.
func TestLookAlikes(t *testing.T) {
	for name, c := range map[string]struct{ content, search, want string }{
		"typographic quotes":       {"a\nsay(\"yes\")\n", "say(“yes”)", "line 2 only looks like it: it has the character U+0022 where the search string has the character U+201C"},
		"... in the file":          {"it’s here\n", "it's", "it has the character U+2019 where the search string has the character U+0027"},
		"a dash, over lines":       {"a\nb – c\nd\n", "b - c\nd\n", "line 2 only looks like it: it has the character U+2013 where the search string has the character U+002D"},
		"a minus sign":             {"1 \u2212 2", "1 - 2", "U+2212"},
		"decomposed":               {"x\n\tun cafe\u0301 noir\n", "un caf\u00e9", "line 2 only looks like it: a letter, digit or accent is written with other characters"},
		"composed":                 {"un caf\u00e9\n", "cafe\u0301", "composed or decomposed"},
		"jamo":                     {"\uac00\n", "\u1100\u1161", "composed or decomposed"},
		"zero width in the file":   {"let a\u200bb = 1\n", "ab = 1", "it has the character U+200B, which can't be seen, and the search string doesn't"},
		"zero width in the search": {"let ab = 1\n", "a\u200db = 1", "the search string has the character U+200D, which can't be seen, and the line doesn't"},
		"a soft hyphen":            {"co\u00adop\n", "coop", "U+00AD"},
		"a bidi mark":              {"a\u202eb\n", "ab\n", "U+202E"},
		"full width":               {"f(a\uff0cb)\n", "f(a,b)", "it has the character U+FF0C where the search string has the character U+002C"},
		"full width letters":       {"\uff21\uff22", "AB", "full width"},
		"an ellipsis":              {"wait\u2026\n", "wait...", "U+2026"},
		"behind others":            {"“”“” wait\u2026 f", "wait... f", "U+2026"},
		"no-break":                 {"a\u00a0b", "a b", "U+00A0"},
		"not UTF-8":                {"caf\xe9 noir", "caf\ufffd noir", "a byte that isn't UTF-8"},
		"nothing that can be seen": {"a\n", "\u200b", "not found"},
		"something else":           {"a – b", "a + b", "not found"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := edit.Apply(c.content, []agentapi.Edit{{Search: c.search, Replace: "z"}})
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "caf") {
				t.Errorf("it says %v, want %s", err, c.want)
			}
		})
	}
}

// TestNotText: what isn't text is said to be so, and isn't touched, even where a search
// would match bytes of it.
func TestNotText(t *testing.T) {
	for name, c := range map[string]struct{ content, want string }{
		"UTF-16, little":         {"\xff\xfea\x00b\x00", "UTF-16"},
		"UTF-16, big":            {"\xfe\xff\x00a\x00b", "UTF-16"},
		"... of other letters":   {"\xff\xfe\x10\x04a\x04", "UTF-16"},
		"... without a mark":     {"a\x00b\x00\r\x00\n\x00", "UTF-16"},
		"... big, without":       {"\x00a\x00b\x00\n", "UTF-16"},
		"UTF-32":                 {"\xff\xfe\x00\x00a\x00\x00\x00", "UTF-32"},
		"a program":              {"\x7fELF\x02\x01\x01\x00\x00\x00a", "binary"},
		"one NUL":                {"a text with one\x00 and more\n", "binary"},
		"Latin-1":                {"c\xe9 a\n", ""},
		"a mark of UTF-8":        {"\xef\xbb\xbfa\n", ""},
		"a NUL that git ignores": {strings.Repeat(" ", 8000) + "a\x00", ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := edit.Apply(c.content, []agentapi.Edit{{Search: "a", Replace: "bc"}})
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("it says %v, want %q", err, c.want)
			}
		})
	}
}
