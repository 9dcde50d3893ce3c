package edit

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// folded is a text in which characters that look alike are the same: the compatibility
// decomposition, which also joins full-width and half-width forms and composed letters with
// decomposed ones, with ASCII quotes and dashes, and without what has no width. Searches
// aren't made by it, because the characters may differ on purpose: it explains why one
// hasn't matched.
func folded(s string) string {
	if ascii(s) {
		return s
	}
	return strings.Map(plain, norm.NFKD.String(s))
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// plain maps a character, decomposed already, to the one in ASCII that it looks like, and
// to -1 if it can't be seen.
func plain(r rune) rune {
	switch {
	case r < utf8.RuneSelf:
		return r
	case strings.ContainsRune("‘’‚‛′‵ʹʻʼʽˈ´ˋ", r):
		return '\''
	case strings.ContainsRune("“”„‟″‶〝〞〟ʺ", r):
		return '"'
	case r == '\u2212', r == '\u02d7', r != '\u1806' && unicode.Is(unicode.Pd, r): // minus signs, dashes
		return '-'
	case r == '\u2044', r == '\u2215': // fraction and division slash
		return '/'
	case unicode.IsSpace(r):
		return ' '
	case unicode.In(r, unicode.Cf, unicode.Variation_Selector), r == '\u034f', r == '\u115f', r == '\u3164':
		return -1
	}
	return r
}

// lookAlike says how the lines from at on differ from a search that only looks like them.
func lookAlike(content string, search []line, at span) string {
	number := at.line
	for rest := content[at.start:at.end]; rest != ""; number++ {
		var l line
		l, rest = next(rest)
		text, s := l.body, search[number-at.line].body
		if len(search) == 1 {
			text = text[offsetOf(text, strings.Index(folded(text), folded(s))):]
		}
		if how := unlike(text, s); how != "" {
			return fmt.Sprintf("line %d only looks like it: %s", number, how)
		}
	}
	return ""
}

// unlike describes the first difference of two texts that fold to the same, or of which
// the line continues.
func unlike(line, search string) string {
	for search != "" {
		a, m := utf8.DecodeRuneInString(line)
		b, n := utf8.DecodeRuneInString(search)
		if line[:m] == search[:n] {
			line, search = line[m:], search[n:]
			continue
		}
		switch {
		case a == utf8.RuneError && m == 1:
			return "it has a byte that isn't UTF-8, as in Latin-1: use a command"
		case folded(search[:n]) == "" && (m == 0 || folded(line[:m]) != ""):
			return fmt.Sprintf("the search string has %s, which can't be seen, and the line doesn't", named(search[:n]))
		case folded(line[:m]) == "":
			return fmt.Sprintf("it has %s, which can't be seen, and the search string doesn't", named(line[:m]))
		case isLetter(a) || isLetter(b):
			return "a letter, digit or accent is written with other characters (composed or decomposed, or full width)"
		}
		return fmt.Sprintf("it has %s where the search string has %s", named(line[:m]), named(search[:n]))
	}
	return ""
}

// isLetter reports whether a character belongs to a word, whatever its form.
func isLetter(r rune) bool {
	first, _ := utf8.DecodeRuneInString(folded(string(r)))
	return unicode.In(first, unicode.Letter, unicode.Digit, unicode.Mark)
}

// offsetOf returns where in a text what is at an offset of its folded form begins.
func offsetOf(s string, offset int) int {
	var it norm.Iter
	it.InitString(norm.NFKD, s)
	for n, at := 0, 0; ; at = it.Pos() {
		n += len(strings.Map(plain, string(it.Next())))
		if n > offset || it.Done() {
			return at
		}
	}
}
