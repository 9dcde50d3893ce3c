package edit

import (
	"cmp"
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

// endAs gives the lines of an edit the ending of the file's lines: who writes LF into a
// file of CRLF means its lines, and not bytes. An edit whose search has the file's ending
// throughout, and whose replacement has the other one, is meant to change endings, and
// stays as it is. Where the file has both, only what is put into a line gets the ending
// that is more frequent: a search over several lines finds what it says. before is the
// ending that the file had before the edits that came first.
func endAs(w *work, content, before, search, replace string) (string, string) {
	if !strings.Contains(search, "\n") && !strings.Contains(replace, "\n") {
		return search, replace
	}
	w.spend(0, 2*len(content))
	end, now := cmp.Or(ending(content), before), uniform(replace)
	purpose := end == uniform(search) && now != "" && now != end
	mixed := uniform(content) == "" && strings.Contains(content, "\n")
	if end == "" || purpose || mixed && strings.Contains(search, "\n") {
		return search, replace
	}
	return withEnd(search, end), withEnd(replace, end)
}

// ending is the one that is dominant, or a CR by itself, as on old Macs.
func ending(text string) string {
	if end := dominant(text); end != "" || !strings.Contains(text, "\r") {
		return end
	}
	return "\r"
}

func withEnd(text, end string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\n", end)
}

// uniform is the ending that all lines of a text have; "" where it has none or both.
func uniform(text string) string {
	switch all, crlf := strings.Count(text, "\n"), strings.Count(text, "\r\n"); {
	case all > 0 && crlf == 0:
		return "\n"
	case all > 0 && crlf == all:
		return "\r\n"
	}
	return ""
}
