package consumer

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// hidden reports whether a character can't be seen, or changes what others
// look like: controls, directional marks, tags, what has no width.
func hidden(r rune) bool {
	switch r {
	case '\n', '\r', '\t', ' ', '\u00a0', '\ufeff' + 0:
		return r == '\ufeff'
	}
	return unicode.Is(unicode.C, r) || r == '\u2028' || r == '\u2029' || r == '\u034f' || r == '\u115f' || r == '\u1160' ||
		r == '\u3164' || r == '\uffa0' || unicode.Is(unicode.Variation_Selector, r) && r != '\ufe0e' && r != '\ufe0f'
}

// countHidden says which hidden characters there are in a text, in words, or
// "". Emoji are made with some of them (U+200D), so this is no more than a
// reason to look.
func countHidden(text string) string {
	counts := map[rune]int{}
	total := 0
	for _, r := range text {
		if hidden(r) && r != utf8.RuneError {
			counts[r]++
			total++
		}
	}
	if total == 0 {
		return ""
	}
	var list []string
	for r, n := range counts {
		list = append(list, fmt.Sprintf("%U ×%d", r, n))
	}
	slices.Sort(list)
	if more := len(list) - 8; more > 0 {
		list = append(list[:8], fmt.Sprintf("%d others", more))
	}
	return fmt.Sprintf("%d invisible or directional characters (%s)", total, strings.Join(list, ", "))
}

// oneLine makes a text fit for a line: what is hidden becomes visible, and
// blanks are one space each.
func oneLine(text string) string {
	var b strings.Builder
	for _, r := range strings.Join(strings.Fields(text), " ") {
		if hidden(r) {
			fmt.Fprintf(&b, "<%U>", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// prose is oneLine as plain text in Markdown.
func prose(text string) string {
	var b strings.Builder
	for _, r := range oneLine(text) {
		if strings.ContainsRune("\\`*_[]<>&~|#!", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// code is oneLine as a code span, with more backticks around it than within.
func code(text string) string {
	text = oneLine(text)
	ticks := strings.Repeat("`", longestRun(text)+1)
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") || text == "" {
		text = " " + text + " "
	}
	return ticks + text + ticks
}

// fenced is a text as it is, in a fence that nothing within can end.
func fenced(text string) string {
	fence := strings.Repeat("`", max(longestRun(text)+1, 3))
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return fence + "text\n" + text + fence + "\n"
}

// longestRun returns the length of the longest run of backticks.
func longestRun(text string) (longest int) {
	run := 0
	for i := range len(text) {
		if text[i] != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}
