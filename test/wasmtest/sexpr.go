package wasmtest

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// node is an atom, a string or a list of the text format.
type node struct {
	atom string // a string's bytes when str is set
	str  bool
	list []node // nil for atoms and strings
	line int
}

// head is the first word of a list, or "".
func (n node) head() string {
	if len(n.list) == 0 {
		return ""
	}
	return n.list[0].atom
}

func (n node) isList() bool { return n.list != nil }

func (n node) errorf(format string, args ...any) error {
	return fmt.Errorf("line %d: %s", n.line, fmt.Sprintf(format, args...))
}

// lexer splits text into nodes.
type lexer struct {
	text string
	pos  int
	line int
}

// parse reads one list, which must be all there is.
func parse(text string) (node, error) {
	l := &lexer{text: text, line: 1}
	l.skip()
	n, err := l.node()
	if err != nil {
		return n, err
	}
	l.skip()
	if l.pos < len(l.text) {
		return n, fmt.Errorf("line %d: text after the module", l.line)
	}
	return n, nil
}

// skip moves over blanks and comments, ";; …" and "(; … ;)".
func (l *lexer) skip() {
	for l.pos < len(l.text) {
		rest := l.text[l.pos:]
		switch {
		case rest[0] == '\n':
			l.line++
			l.pos++
		case rest[0] == ' ' || rest[0] == '\t' || rest[0] == '\r':
			l.pos++
		case strings.HasPrefix(rest, ";;"):
			end := strings.IndexByte(rest, '\n')
			if end < 0 {
				end = len(rest)
			}
			l.pos += end
		case strings.HasPrefix(rest, "(;"):
			end := strings.Index(rest, ";)")
			if end < 0 {
				end = len(rest) - 2
			}
			l.line += strings.Count(rest[:end], "\n")
			l.pos += end + 2
		default:
			return
		}
	}
}

func (l *lexer) node() (node, error) {
	if l.pos >= len(l.text) {
		return node{}, errors.New("the text ends too early")
	}
	switch l.text[l.pos] {
	case '(':
		return l.list()
	case ')':
		return node{}, fmt.Errorf("line %d: ) without (", l.line)
	case '"':
		return l.string()
	}
	start := l.pos
	for l.pos < len(l.text) && !strings.ContainsRune(" \t\r\n()\";", rune(l.text[l.pos])) {
		l.pos++
	}
	if l.pos == start {
		return node{}, fmt.Errorf("line %d: unexpected %q", l.line, l.text[start])
	}
	return node{atom: l.text[start:l.pos], line: l.line}, nil
}

func (l *lexer) list() (node, error) {
	n := node{list: []node{}, line: l.line}
	l.pos++
	for {
		l.skip()
		if l.pos < len(l.text) && l.text[l.pos] == ')' {
			l.pos++
			return n, nil
		}
		child, err := l.node()
		if err != nil {
			return n, err
		}
		n.list = append(n.list, child)
	}
}

// string reads a quoted string: \n, \t, \\, \", and two hexadecimal digits for
// any byte.
func (l *lexer) string() (node, error) {
	n := node{str: true, line: l.line}
	var b strings.Builder
	for l.pos++; l.pos < len(l.text); l.pos++ {
		switch c := l.text[l.pos]; c {
		case '"':
			l.pos++
			n.atom = b.String()
			return n, nil
		case '\\':
			size, err := unescape(&b, l.text[l.pos+1:])
			if err != nil {
				return n, n.errorf("%v", err)
			}
			l.pos += size
		default:
			b.WriteByte(c)
		}
	}
	return n, n.errorf("the string doesn't end")
}

func unescape(b *strings.Builder, s string) (size int, err error) {
	if s == "" {
		return 0, errors.New("the string doesn't end")
	}
	if i := strings.IndexByte(`nt\"'`, s[0]); i >= 0 {
		b.WriteByte("\n\t\\\"'"[i])
		return 1, nil
	}
	if len(s) < 2 {
		return 0, errors.New("the string doesn't end")
	}
	v, err := strconv.ParseUint(s[:2], 16, 8)
	if err != nil {
		return 0, fmt.Errorf("unknown escape \\%s", s[:2])
	}
	b.WriteByte(byte(v))
	return 2, nil
}

// Quote spells bytes as a string of the text format.
func Quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(s) {
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			fmt.Fprintf(&b, `\%02x`, c)
		} else {
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
