package edit

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// line is one line of a text, cut into what the rules look at. Joined, its four
// parts are the line. Blanks are what Unicode calls white space.
type line struct {
	lead  string // the blanks before the text, its indent; "" where there is no text
	body  string // the text; "" in a blank line
	trail string // the blanks behind it; all of a blank line
	end   string // "\n", "\r\n", or "" at the end of the text
	text  string // lead and body
}

// blank says that there is no text in it.
func (l line) blank() bool { return l.body == "" }

// next cuts the first line off a text that isn't empty.
func next(text string) (l line, rest string) {
	raw := text
	if i := strings.IndexByte(text, '\n'); i >= 0 {
		raw, rest, l.end = text[:i], text[i+1:], "\n"
		if i > 0 && raw[i-1] == '\r' {
			raw, l.end = raw[:i-1], "\r\n"
		}
	}
	n := len(raw)
	for n > 0 && isBlank(raw[n-1]) {
		n--
	}
	l.text = raw[:n]
	if n > 0 && raw[n-1] >= utf8.RuneSelf {
		l.text = strings.TrimRightFunc(l.text, unicode.IsSpace)
	}
	l.trail = raw[len(l.text):]
	n = 0
	for n < len(l.text) && isBlank(l.text[n]) {
		n++
	}
	l.body = l.text[n:]
	if l.body != "" && l.body[0] >= utf8.RuneSelf {
		l.body = strings.TrimLeftFunc(l.body, unicode.IsSpace)
	}
	l.lead = l.text[:len(l.text)-len(l.body)]
	return l, rest
}

// isBlank says it of ASCII, which is nearly all: in the inner loop of everything.
func isBlank(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }

// size is its length in bytes.
func (l line) size() int { return len(l.text) + len(l.trail) + len(l.end) }

// lines cuts a text. A text without a final newline ends in a line without an
// end; an empty one has no lines.
func lines(text string) []line {
	all := make([]line, 0, countLines(text))
	for text != "" {
		var l line
		l, text = next(text)
		all = append(all, l)
	}
	return all
}

// countLines is how many lines a text has.
func countLines(text string) int {
	n := strings.Count(text, "\n")
	if text != "" && text[len(text)-1] != '\n' {
		n++
	}
	return n
}

// dominant is the line ending that a text has most often, of two that are as
// frequent the first one's; "" where it has none.
func dominant(text string) string {
	all := strings.Count(text, "\n")
	crlf := strings.Count(text, "\r\n")
	switch {
	case all == 0:
		return ""
	case 2*crlf > all:
		return "\r\n"
	case 2*crlf == all:
		first, _ := next(text)
		return first.end
	}
	return "\n"
}

// kind is the line ending that all of some lines have; "" where they have none
// or both.
func kind(some []line) string {
	found := ""
	for _, l := range some {
		if l.end == "" || l.end == found {
			continue
		}
		if found != "" {
			return ""
		}
		found = l.end
	}
	return found
}
