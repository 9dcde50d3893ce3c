package frontmatter

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	// MaxSize is how long a block may be, in bytes.
	MaxSize = 64 << 10
	// maxDepth is how deep lists and maps may lie in each other.
	maxDepth = 32
	// maxValues is how many values a block may have: far more than front matter
	// has, and few enough for the slowest garbage collector of a kit.
	maxValues = 2048
	// maxKeys bounds the time that looking for duplicates takes.
	maxKeys = 256
	// maxKey is far below the 1024 characters that YAML allows for a key on
	// one line; in bytes.
	maxKey = 128
	// firstLine is the number of a block's first line in its file: the
	// delimiter is above it.
	firstLine = 2
)

// Options say how to read a block. The zero value reads YAML.
type Options struct {
	// Lenient takes for a text what YAML refuses and people write all the
	// same, where it stands on one line behind a key or a dash: patterns without
	// quotes ("globs: **/*.ts") and texts with ": " in them.
	Lenient bool
}

// SyntaxError says why a block can't be read.
type SyntaxError struct {
	Line   int    // counted as in the file, whose first line is ---
	Reason string // for a person
}

func (e *SyntaxError) Error() string {
	return "front matter, line " + strconv.Itoa(e.Line) + ": " + e.Reason
}

// Parse reads a block that Find has found. The value is a map; it has no
// members when there are only blank lines and comments.
//
// # Errors
//
// A *SyntaxError for what isn't YAML, and for what this package doesn't read.
func Parse(block []byte, o Options) (Value, error) {
	p := parser{lenient: o.Lenient}
	p.cut(string(block))
	v := Value{Kind: Map, Line: firstLine}
	if p.err == nil && p.next() {
		v = p.mapping(p.lines[p.at].indent, 1)
	}
	if p.err == nil && p.next() {
		p.fail(p.at, "the indentation fits no line above")
	}
	if p.err != nil {
		return Value{}, p.err
	}
	return v, nil
}

// parser goes through the lines of a block. After the first error nothing else
// counts, so that most functions needn't look at it.
type parser struct {
	lines   []line
	at      int // the line that is next
	values  int // so far
	lenient bool
	err     *SyntaxError
}

// line is one without its end. What is before indent doesn't count any more:
// blanks, and the dash of a list that the rest of the line is an item of.
type line struct {
	text   string
	indent int
}

func (l line) content() string { return l.text[l.indent:] }

// fail keeps the first error.
func (p *parser) fail(at int, reason string) {
	if p.err == nil {
		p.err = &SyntaxError{at + firstLine, reason}
	}
}

// count counts one more value.
func (p *parser) count() {
	if p.values++; p.values > maxValues {
		p.fail(p.at, "more than 2048 values")
	}
}

// cut makes lines of a block, and refuses what holds for all of it.
func (p *parser) cut(block string) {
	if len(block) > MaxSize {
		p.fail(0, "it has more than 64 KiB")
		return
	}
	p.lines = make([]line, 0, usualLines)
	for block != "" {
		end, plain := endOfLine(block)
		text := block[:end]
		block = block[min(end+1, len(block)):]
		if !plain {
			text = strings.TrimSuffix(text, "\r")
		}
		indent := 0
		for indent < len(text) && text[indent] == ' ' {
			indent++
		}
		at := len(p.lines)
		p.lines = append(p.lines, line{text, indent})
		if !plain && !printable(text) {
			p.fail(at, "a character that is no text")
		}
		if len(text) >= 3 && (text[:3] == "---" || text[:3] == "...") && (len(text) == 3 || isBlank(text[3])) {
			p.fail(at, "a line like this ends YAML; only what is before it would count")
		}
	}
}

// Most front matter has so few lines, and keys.
const (
	usualLines = 8
	usualKeys  = 4
)

// endOfLine returns where the first line of a text ends, and whether it holds
// nothing but blanks and ASCII characters that can be seen.
func endOfLine(text string) (end int, plain bool) {
	plain = true
	for i := range len(text) {
		switch c := text[i]; {
		case c == '\n':
			return i, plain
		case c < ' ' || c > '~':
			plain = false
		}
	}
	return len(text), plain
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

// trim takes blanks off a text, which package strings does for any characters, and
// takes longer for.
func trim(s string) string {
	s = trimLeft(s)
	for s != "" && isBlank(s[len(s)-1]) {
		s = s[:len(s)-1]
	}
	return s
}

func trimLeft(s string) string {
	for s != "" && isBlank(s[0]) {
		s = s[1:]
	}
	return s
}

// next goes to the next line that is neither blank nor a comment.
func (p *parser) next() bool {
	for ; p.at < len(p.lines); p.at++ {
		l := &p.lines[p.at]
		i := l.indent
		for i < len(l.text) && isBlank(l.text[i]) {
			i++
		}
		if i < len(l.text) && l.text[i] != '#' {
			return true
		}
	}
	return false
}

// node reads what begins on the next line, which is indented more than parent.
func (p *parser) node(parent, depth int) Value {
	l := p.lines[p.at]
	if depth > maxDepth {
		p.fail(p.at, "more than 32 levels")
		return Value{}
	}
	if l.content()[0] == '\t' {
		p.fail(p.at, "a tab in the indentation; use blanks")
		return Value{}
	}
	if isItem(l.content()) {
		return p.list(l.indent, depth)
	}
	if _, _, isKey := p.key(l.content(), false); isKey {
		return p.mapping(l.indent, depth)
	}
	return p.scalar(parent, l.indent, depth)
}

// mapping reads the keys at an indentation.
func (p *parser) mapping(indent, depth int) Value {
	v := Value{Kind: Map, Line: p.at + firstLine}
	for p.err == nil && p.next() && p.lines[p.at].indent == indent {
		p.count()
		at, text := p.at, p.lines[p.at].content()
		key, n, isKey := p.key(text, false)
		switch {
		case !isKey:
			p.fail(at, notKey(text))
		case len(key) > maxKey:
			p.fail(at, "a key of more than 128 bytes")
		case len(v.Map) == maxKeys:
			p.fail(at, "more than 256 keys")
		case has(v.Map, key):
			p.fail(at, "the key "+key+" stands twice")
		default:
			if v.Map == nil {
				v.Map = make([]Member, 0, usualKeys)
			}
			v.Map = append(v.Map, Member{key, p.value(indent, indent+n, depth, true)})
		}
	}
	p.level(indent)
	return v
}

// level refuses a line that is indented more than what is above it.
func (p *parser) level(indent int) {
	if p.err == nil && p.next() && p.lines[p.at].indent > indent {
		p.fail(p.at, "the indentation fits no line above")
	}
}

func has(members []Member, key string) bool {
	for i := range members {
		if members[i].Key == key {
			return true
		}
	}
	return false
}

// notKey says what is wrong with a line that should begin with a key.
func notKey(text string) string {
	n := plainKey(text)
	switch {
	case text[0] == '\t':
		return "a tab in the indentation; use blanks"
	case isItem(text):
		return "an item of a list where a key should be"
	case n > 0 && n < len(text) && text[n] == ':':
		return "a blank is missing behind the colon"
	}
	return `this is neither "key: value" nor "- item"`
}

// key returns the key that a text begins with, and the length of it with its
// colon. A blank follows the colon, except behind quotes in braces, as in JSON.
func (p *parser) key(text string, braces bool) (key string, n int, isKey bool) {
	quoted := text[0] == '"' || text[0] == '\''
	if quoted {
		n = closing(text[1:], text[0]) + 2
		if n > len(text) || strings.ContainsAny(text[1:n-1], text[:1]+`\`) {
			return "", 0, false
		}
		key = text[1 : n-1]
	} else {
		n = plainKey(text)
		key = text[:n]
	}
	if n == 0 || n >= len(text) || text[n] != ':' {
		return "", 0, false
	}
	if n+1 < len(text) && !isBlank(text[n+1]) && (!quoted || !braces) {
		return "", 0, false
	}
	if !quoted && plainKind(key) != String {
		p.fail(p.at, "the key "+key+" needs quotes: it isn't a text to every version of YAML")
	}
	return key, n + 1, true
}

// plainKey returns the length of the key at the start of a text.
func plainKey(text string) int {
	for i := range len(text) {
		c := text[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '$' || c == '.' || c == '/'
		if !letter && (c != '-' || i == 0) {
			return i
		}
	}
	return len(text)
}

// isItem reports whether a text is an item of a list.
func isItem(text string) bool {
	return text != "" && text[0] == '-' && (len(text) == 1 || isBlank(text[1]))
}

// list reads the items at an indentation.
func (p *parser) list(indent, depth int) Value {
	v := Value{Kind: List, Line: p.at + firstLine}
	if depth > maxDepth {
		p.fail(p.at, "more than 32 levels")
	}
	for p.err == nil && p.next() && p.lines[p.at].indent == indent && isItem(p.lines[p.at].content()) {
		p.count()
		v.List = append(v.List, p.item(indent, depth))
	}
	p.level(indent)
	return v
}

// item reads an item. A map or a list may begin on its line, and goes on below
// at that column.
func (p *parser) item(indent, depth int) Value {
	l := &p.lines[p.at]
	rest := strings.TrimLeft(l.text[indent+1:], " ")
	if rest == "" || rest[0] == '#' {
		return p.value(indent, indent+1, depth, false)
	}
	if rest[0] == '\t' {
		p.fail(p.at, "a tab in the indentation; use blanks")
		return Value{}
	}
	_, _, isKey := p.key(rest, false)
	if isKey || isItem(rest) {
		l.indent = len(l.text) - len(rest)
		return p.node(indent, depth+1)
	}
	return p.value(indent, indent+1, depth, false)
}

// value reads what stands behind a key or a dash, from a column of the line on,
// or below it. The items of a key's list may stand at the key's indentation.
func (p *parser) value(indent, column, depth int, ofKey bool) Value {
	l := p.lines[p.at]
	rest := trimLeft(l.text[column:])
	if rest != "" && rest[0] != '#' {
		return p.scalar(indent, len(l.text)-len(rest), depth)
	}
	null := Value{Line: p.at + firstLine}
	p.at++
	if !p.next() {
		return null
	}
	l = p.lines[p.at]
	if l.indent > indent {
		return p.node(indent, depth+1)
	}
	if ofKey && l.indent == indent && isItem(l.content()) {
		return p.list(indent, depth+1)
	}
	return null
}

// printable reports whether a line holds only characters that YAML takes as
// they are and that end no line in any version of it. U+FFFD is what other
// languages have in the place of bytes that aren't UTF-8.
func printable(text string) bool {
	for _, r := range text {
		switch {
		case r == '\t':
		case r < ' ', r >= 0x7f && r < 0xa0, // controls
			r == 0x2028, r == 0x2029, // line and paragraph separator
			r == 0xfeff, r == utf8.RuneError, r == 0xfffe, r == 0xffff: // byte order mark, non-characters
			return false
		}
	}
	return true
}
