package imports

import (
	"slices"
	"strings"
)

// Words returns up to 500 paths after an @ at the beginning of a word, as Gemini CLI 0.61.0
// takes them: a word ends with a blank, and its path begins with a letter, a dot or a slash.
// Words between equal runs of backticks don't count, even if lines end between them. Comments
// and indented text are no exception.
func Words(text string) []string { return words(text, backticks) }

// words returns the paths of the words that don't begin in one of the regions that code
// finds.
func words(text string, code func(string) [][2]int) (list []string) {
	var regions [][2]int
	for i := 0; i < len(text) && len(list) < most; {
		at := strings.IndexByte(text[i:], '@')
		if at < 0 {
			break
		}
		if at += i; at > 0 && !isGap(text[at-1]) {
			i = at + 1
			continue
		}
		end := at + 1
		for end < len(text) && !isGap(text[end]) {
			end++
		}
		i = end + 1
		word := text[at+1 : end]
		if word == "" || word[0] != '.' && word[0] != '/' && (word[0]|0x20 < 'a' || word[0]|0x20 > 'z') || strings.Contains(word, "://") || slices.Contains(list, word) {
			continue
		}
		if regions == nil {
			regions = append(code(text), [2]int{})
		}
		if !slices.ContainsFunc(regions, func(r [2]int) bool { return r[0] <= at && at < r[1] }) {
			list = append(list, word)
		}
	}
	return list
}

func isGap(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// backticks finds what stands between two runs of as many backticks. A run without another
// one counts as the longest shorter one that has one.
func backticks(text string) (regions [][2]int) {
	for i := 0; ; {
		at := strings.IndexByte(text[i:], '`')
		if at < 0 {
			return regions
		}
		i += at
		run := len(text[i:]) - len(strings.TrimLeft(text[i:], "`"))
		next := i + 1
		for n := run; n > 0; n-- {
			if end := strings.Index(text[i+n:], text[i:i+n]); end >= 0 {
				next = i + n + end + n
				regions = append(regions, [2]int{i, next})
				break
			}
		}
		i = next
	}
}
