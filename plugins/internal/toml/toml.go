// Package toml reads TOML 1.1 into JSON, the other format of configuration files, so that
// callers need only one way to read a document. It uses neither reflection nor fmt, which
// double the size of a guest.
//
// Tables and arrays become objects and arrays, in the order of the document. Integers become
// decimal; dates, times, inf and nan become texts, as written.
//
// # Guarantees
//
// github.com/BurntSushi/toml accepts whatever Parse accepts, with the same result. Tests
// compare them, also on TOML's own test suite, of which Parse accepts all valid documents and
// no other. Errors give a line, and never quote the document, which may hold secrets. Nothing
// panics.
//
// # Concurrency
//
// The function has no state.
//
// # Limits
//
// Tables and arrays are nested at most 64 levels deep.
package toml

import (
	"bytes"
	"slices"
	"strconv"
	"unicode/utf8"

	"waymark/sdk-guest/jsonlite"
)

const maxDepth = 64

// SyntaxError says where a document is not TOML. It quotes nothing of it.
type SyntaxError struct {
	Line   int // counted from 1
	Reason string
}

func (e *SyntaxError) Error() string {
	return "invalid TOML in line " + strconv.Itoa(e.Line) + ": " + e.Reason
}

// Parse reads a document.
//
// # Errors
//
// Always a *SyntaxError.
func Parse(text []byte) (jsonlite.Value, error) {
	p := parser{text: bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))}
	root := &node{kind: table}
	p.checkText()
	p.document(root)
	if p.err != nil {
		return jsonlite.Value{}, p.err
	}
	var w jsonlite.Writer
	w.Grow(len(text))
	root.write(&w)
	v, err := jsonlite.Parse(w.Bytes(), jsonlite.Options{MaxDepth: 2 * maxDepth})
	if err != nil {
		return jsonlite.Value{}, &SyntaxError{1, "it makes no sense"} // can't be
	}
	return v, nil
}

type nodeKind byte

const (
	scalar nodeKind = iota
	table
	array
	tables // an array of tables, of [[name]]
)

// node is a value while the document is read.
type node struct {
	kind nodeKind
	json string // of a scalar
	list []*node
	keys []string
	vals []*node
	at   map[string]int // where keys are, of a large table
	// closed tables were written in braces, headed ones have a header of their own,
	// dotted ones come from a key with dots.
	closed, headed, dotted bool
}

func (n *node) write(w *jsonlite.Writer) {
	switch n.kind {
	case scalar:
		w.RawString(n.json)
	case table:
		w.BeginObject()
		for i, key := range n.keys {
			w.Key(key)
			n.vals[i].write(w)
		}
		w.EndObject()
	case array, tables:
		w.BeginArray()
		for _, e := range n.list {
			e.write(w)
		}
		w.EndArray()
	}
}

// largeTable is where looking through all keys gets slower than hashing.
const largeTable = 16

func (n *node) get(key string) *node {
	i := -1
	if n.at != nil {
		if at, ok := n.at[key]; ok {
			i = at
		}
	} else {
		i = slices.Index(n.keys, key)
	}
	if i < 0 {
		return nil
	}
	return n.vals[i]
}

func (n *node) add(key string, v *node) *node {
	n.keys, n.vals = append(n.keys, key), append(n.vals, v)
	switch {
	case n.at != nil:
		n.at[key] = len(n.keys) - 1
	case len(n.keys) > largeTable:
		n.at = make(map[string]int, 2*len(n.keys))
		for i, k := range n.keys {
			n.at[k] = i
		}
	}
	return v
}

// parser goes through a document. After the first error nothing else counts: the rest
// of the document is empty to it.
type parser struct {
	text []byte
	pos  int
	err  *SyntaxError
}

func (p *parser) fail(reason string) {
	if p.err == nil {
		p.err = &SyntaxError{1 + bytes.Count(p.text[:min(p.pos, len(p.text))], []byte("\n")), reason}
	}
	p.pos = len(p.text)
}

// checkText refuses what may stand nowhere in a document.
func (p *parser) checkText() {
	for i := 0; i < len(p.text); {
		c := p.text[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRune(p.text[i:])
			if r == utf8.RuneError && size == 1 {
				p.pos = i
				p.fail("not valid UTF-8")
				return
			}
			i += size
			continue
		}
		bare := c == '\r' && (i+1 == len(p.text) || p.text[i+1] != '\n')
		if bare || c == 0x7f || c < ' ' && c != '\t' && c != '\n' && c != '\r' {
			p.pos = i
			p.fail("a control character")
			return
		}
		i++
	}
}

// peek returns the next byte, or 0 at the end, which stands nowhere in a document.
func (p *parser) peek() byte {
	if p.pos < len(p.text) {
		return p.text[p.pos]
	}
	return 0
}

func (p *parser) has(s string) bool { return bytes.HasPrefix(p.text[p.pos:], []byte(s)) }

// take moves past a text and reports whether it was there.
func (p *parser) take(s string) bool {
	if !p.has(s) {
		return false
	}
	p.pos += len(s)
	return true
}

func (p *parser) blanks() {
	for c := p.peek(); c == ' ' || c == '\t'; c = p.peek() {
		p.pos++
	}
}

// lines moves past blanks, line ends and comments.
func (p *parser) lines() {
	for {
		switch p.blanks(); p.peek() {
		case '\n', '\r':
			p.pos++
		case '#':
			p.comment()
		default:
			return
		}
	}
}

func (p *parser) comment() {
	n := bytes.IndexByte(p.text[p.pos:], '\n')
	if n < 0 {
		n = len(p.text) - p.pos
	}
	p.pos += n
}

// endLine expects nothing but a comment up to the end of the line.
func (p *parser) endLine() {
	p.blanks()
	if p.peek() == '#' {
		p.comment()
	}
	if p.pos < len(p.text) && !p.take("\n") && !p.take("\r\n") {
		p.fail("the end of the line is expected")
	}
}

func (p *parser) document(root *node) {
	current := root
	for p.lines(); p.pos < len(p.text); p.lines() {
		if p.peek() == '[' {
			current = p.header(root)
		} else {
			p.assign(current, 1)
		}
		p.endLine()
	}
}

// header reads [name] or [[name]], and returns the table that it begins.
func (p *parser) header(root *node) *node {
	p.pos++
	many := p.take("[")
	p.blanks()
	keys := p.keyPath()
	closing := "]"
	if many {
		closing = "]]"
	}
	if p.err == nil && !p.take(closing) {
		p.fail(closing + " is expected")
	}
	if p.err != nil {
		return root
	}
	at := root
	for _, key := range keys[:len(keys)-1] {
		if at = p.inside(at, key); at == nil {
			return root
		}
	}
	return p.begin(at, keys[len(keys)-1], many)
}

// inside returns the table that a header goes on in: one that is there, the last of an
// array, or a new one.
func (p *parser) inside(at *node, key string) *node {
	next := at.get(key)
	switch {
	case next == nil:
		return at.add(key, &node{kind: table})
	case next.kind == tables:
		return next.list[len(next.list)-1]
	case next.kind == table && !next.closed:
		return next
	}
	p.fail("a name in the header is that of something else")
	return nil
}

func (p *parser) begin(at *node, key string, many bool) *node {
	found := at.get(key)
	switch {
	case many && found == nil:
		found = at.add(key, &node{kind: tables})
		fallthrough
	case many && found.kind == tables:
		found.list = append(found.list, &node{kind: table, headed: true})
		return found.list[len(found.list)-1]
	case found == nil:
		return at.add(key, &node{kind: table, headed: true})
	case !many && found.kind == table && !found.headed && !found.dotted && !found.closed:
		found.headed = true
		return found
	}
	p.fail("the name in the header is defined already")
	return at
}

// assign reads key = value into a table.
func (p *parser) assign(at *node, depth int) {
	keys := p.keyPath()
	if p.err == nil && !p.take("=") {
		p.fail("= is expected behind a key")
	}
	if p.err != nil {
		return
	}
	for _, key := range keys[:len(keys)-1] {
		next := at.get(key)
		switch {
		case next == nil:
			next = at.add(key, &node{kind: table, dotted: true})
		case next.kind != table || !next.dotted:
			p.fail("a part of the key is defined already")
			return
		}
		at = next
	}
	last := keys[len(keys)-1]
	if at.get(last) != nil {
		p.fail("the key is defined already")
		return
	}
	p.blanks()
	v := p.value(depth + len(keys))
	if p.err == nil {
		at.add(last, v)
	}
}

// keyPath reads the parts of a key up to what is neither part nor dot.
func (p *parser) keyPath() (keys []string) {
	for {
		p.blanks()
		keys = append(keys, p.key())
		p.blanks()
		if p.peek() != '.' {
			break
		}
		p.pos++
	}
	if len(keys) > maxDepth {
		p.fail("nested deeper than 64 levels")
	}
	return keys
}

func (p *parser) key() string {
	switch p.peek() {
	case '"':
		return p.basic()
	case '\'':
		return p.literal()
	}
	start := p.pos
	for isBare(p.peek()) {
		p.pos++
	}
	if p.pos == start {
		p.fail("a key is expected")
		return ""
	}
	return string(p.text[start:p.pos])
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isBare(c byte) bool {
	return isDigit(c) || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '-'
}

func (p *parser) value(depth int) *node {
	if depth > maxDepth {
		p.fail("nested deeper than 64 levels")
		return nil
	}
	switch c := p.peek(); {
	case p.take(`"""`):
		return textNode(p.multiBasic())
	case c == '"':
		return textNode(p.basic())
	case p.take(`'''`):
		return textNode(p.multiLiteral())
	case c == '\'':
		return textNode(p.literal())
	case c == '[':
		return p.array(depth)
	case c == '{':
		return p.inline(depth)
	}
	return p.plain()
}

func textNode(s string) *node {
	return &node{json: string(jsonlite.AppendString(make([]byte, 0, len(s)+2), s))}
}

func (p *parser) array(depth int) *node {
	p.pos++
	n := &node{kind: array}
	for p.lines(); p.err == nil && !p.take("]"); p.lines() {
		n.list = append(n.list, p.value(depth+1))
		if p.lines(); !p.take(",") && p.peek() != ']' {
			p.fail("a comma or ] is expected")
		}
	}
	return n
}

func (p *parser) inline(depth int) *node {
	p.pos++
	n := &node{kind: table}
	for p.lines(); p.err == nil && !p.take("}"); p.lines() {
		p.assign(n, depth)
		if p.lines(); !p.take(",") && p.peek() != '}' {
			p.fail("a comma or } is expected")
		}
	}
	n.close()
	return n
}

// close keeps later lines from adding to a table in braces.
func (n *node) close() {
	if n.kind != table || n.closed {
		return
	}
	n.closed, n.dotted = true, false
	for _, v := range n.vals {
		v.close()
	}
}
