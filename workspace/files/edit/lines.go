package edit

import (
	"cmp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// line is one line of a text, split into the parts that the rules compare. Joined, lead,
// body, trail and end are the line. Blanks are Unicode's white space.
type line struct {
	lead  string // the leading blanks, its indent; "" without text
	body  string // the text; "" in a blank line
	trail string // the trailing blanks; all of a blank line
	end   string // "\n", "\r\n", or "" at the end of the text
	text  string // lead and body
}

// blank reports whether it has no text.
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

// isBlank reports this for ASCII, which nearly all text is. It is in the innermost loop.
func isBlank(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }

// size is its length in bytes.
func (l line) size() int { return len(l.text) + len(l.trail) + len(l.end) }

// lines splits a text. A text without a final newline ends in a line without an end; an
// empty one has no lines.
func lines(text string) []line {
	all := make([]line, 0, countLines(text))
	for text != "" {
		var l line
		l, text = next(text)
		all = append(all, l)
	}
	return all
}

// countLines returns the number of lines of a text.
func countLines(text string) int {
	n := strings.Count(text, "\n")
	if text != "" && text[len(text)-1] != '\n' {
		n++
	}
	return n
}

// dominant is the most frequent line ending of a text. If two are equally frequent it is
// the first line's. It is "" if the text has none.
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

// endAs gives the lines of an edit the ending of the file's lines, because an author who
// writes LF for a file with CRLF means lines, not bytes. If the search has the file's
// ending throughout and the replacement the other one, the edit is meant to change endings
// and stays. If the file has both, only lines inserted into a line get the more frequent
// ending, and a search over several lines matches literally. before is the ending that the
// file had before the first edit.
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

// ending is the dominant one, or a single CR, as on old Macs.
func ending(text string) string {
	if end := dominant(text); end != "" || !strings.Contains(text, "\r") {
		return end
	}
	return "\r"
}

func withEnd(text, end string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\n", end)
}

// uniform is the ending of all lines of a text; "" if it has none or both.
func uniform(text string) string {
	switch all, crlf := strings.Count(text, "\n"), strings.Count(text, "\r\n"); {
	case all > 0 && crlf == 0:
		return "\n"
	case all > 0 && crlf == all:
		return "\r\n"
	}
	return ""
}
