package edit

import "strings"

// indents translates indents of a search and its replacement to those of a file.
type indents struct {
	caller string // the unit of search and replacement; "" if there is none
	file   string // the file's unit, for the lines found last

	content string
	whole   measure // of all lines of the content, once they were measured
	seen    bool
	w       *work
}

func newIndents(w *work, content string, search, replace []line) *indents {
	var m measure
	for _, some := range [][]line{search, replace} {
		for _, l := range some {
			m.add(l)
		}
	}
	return &indents{caller: m.unit(), content: content, w: w}
}

// of determines the file's unit from the lines found or, if none of them is indented, from
// all lines. The width of an indent of spaces is that of the whole file, which has more
// levels. If that is 1, because lines are merely aligned, it is that of the lines found.
func (x *indents) of(found []line) {
	var m measure
	for _, l := range found {
		m.add(l)
	}
	switch {
	case !m.indented():
		x.look()
		m = x.whole
	case m.spaces && m.unit() != "":
		if x.look(); x.whole.width > 1 {
			m.width = x.whole.width
		}
	}
	x.file = m.unit()
}

// look measures the whole file once.
func (x *indents) look() {
	if x.seen {
		return
	}
	x.seen = true
	n := 0
	for rest := x.content; rest != ""; n++ {
		var l line
		l, rest = next(rest)
		x.whole.add(l)
	}
	x.w.spend(n, len(x.content))
}

// translate returns the indent in the file for a line with the indent now in the
// replacement. Its reference line has the indent old in the search and file in the file,
// and the result differs from file by as many levels as now differs from old. If levels
// can't be counted, the text by which now is longer or shorter than old is added to file or
// cut from it. If that is impossible too, the result is now.
func (x *indents) translate(now, old, file string) string {
	if now == old {
		return file
	}
	if shifted, ok := x.shift(now, old, file); ok {
		return shifted
	}
	if more, ok := strings.CutPrefix(now, old); ok {
		return file + more
	}
	if less, ok := strings.CutPrefix(old, now); ok && strings.HasSuffix(file, less) {
		return strings.TrimSuffix(file, less)
	}
	return now
}

// maxIndent limits what counting levels may add, in bytes. No author indents deeper.
const maxIndent = 4096

// shift counts levels.
func (x *indents) shift(now, old, file string) (string, bool) {
	if x.caller == "" || x.file == "" {
		return "", false
	}
	// The caller's indents are multiples of the caller's unit, unless they are merely
	// aligned.
	if !isLevel(now, x.caller) || !isLevel(old, x.caller) {
		return "", false
	}
	more := (len(now) - len(old)) / len(x.caller)
	if more > 0 {
		if more*len(x.file) > maxIndent {
			return "", false
		}
		return file + strings.Repeat(x.file, more), true
	}
	for ; more < 0 && file != ""; more++ {
		if !strings.HasSuffix(file, x.file) {
			return "", false
		}
		file = strings.TrimSuffix(file, x.file)
	}
	return file, true
}

func isLevel(indent, unit string) bool {
	return len(indent)%len(unit) == 0 && strings.Trim(indent, unit[:1]) == ""
}

// measure is what is known about the indents of some lines.
type measure struct {
	tabs, spaces, mixed bool
	// width is the greatest common divisor of the indents of spaces; 0 for none.
	width int
}

func (m *measure) add(l line) {
	switch {
	case l.lead == "":
	case strings.Trim(l.lead, "\t") == "":
		m.tabs = true
	case strings.Trim(l.lead, " ") != "":
		m.mixed = true
	case l.body[0] != '*': // the lines of a block comment are aligned, not indented
		m.spaces = true
		m.width = gcd(m.width, len(l.lead))
	}
}

func (m *measure) indented() bool { return m.tabs || m.spaces || m.mixed }

// unit is one level, "" if there is none or they are mixed.
func (m *measure) unit() string {
	switch {
	case m.mixed || m.tabs && m.spaces:
		return ""
	case m.tabs:
		return "\t"
	}
	return strings.Repeat(" ", m.width)
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
