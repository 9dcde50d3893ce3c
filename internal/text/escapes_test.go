package text_test

import (
	"testing"

	"waymark/internal/text"
)

func TestWithoutEscapes(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                             "plain",
		"\ufeff{}":                          "{}",
		"\x1b[31mred\x1b[0m \x1b[1;38;5;9m": "red ",
		"\x1b]0;title\x07a\x1b]8;;http://x\x1b\\b": "ab",
		"\x1b[?25la\x1b[2K\x1b[1Gb":                "ab",
		"\x1b(Ba\x1b=b\x1bM":                       "ab",
		"a\x1b":                                    "a",
		"a\x1b[":                                   "a",
		"a\x1b[3":                                  "a",
		"tab\tcr\r\n":                              "tab\tcr\r\n",
	} {
		if got := text.WithoutEscapes(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
