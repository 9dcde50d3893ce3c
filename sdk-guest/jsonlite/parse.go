package jsonlite

import (
	"bytes"
	"strconv"
)

// defaultMaxDepth is far above what people write and low enough for any guest
// stack; encoding/json stops at 10,000.
const defaultMaxDepth = 512

// Options relaxes Parse. The zero value is strict.
type Options struct {
	// MaxDepth bounds the nesting of arrays and objects. 0 means 512.
	MaxDepth int
	// AllowDuplicates accepts objects with equal keys. Get returns the last
	// one.
	AllowDuplicates bool
	// AllowInvalidUTF8 accepts strings with bytes that aren't UTF-8 and with
	// lone surrogate escapes. Both read as U+FFFD.
	AllowInvalidUTF8 bool
	// AllowComments accepts what editors' configuration files have: // and /* */
	// comments, a comma behind the last element or member, and a byte order mark. It
	// costs a copy of the text.
	AllowComments bool
}

// SyntaxError says where a document is not what was asked for. It quotes
// nothing of the document.
type SyntaxError struct {
	// Offset is in bytes from the start.
	Offset int
	Reason string
}

// Line returns the line of the document where it is, counted from 1.
func (e *SyntaxError) Line(document []byte) int {
	return 1 + bytes.Count(document[:min(e.Offset, len(document))], []byte("\n"))
}

func (e *SyntaxError) Error() string {
	return "invalid JSON at offset " + strconv.Itoa(e.Offset) + ": " + e.Reason
}

// Parse checks that data is one JSON value and returns a view of it. The view
// keeps data; don't change it afterwards.
//
// # Errors
//
// Always a *SyntaxError.
func Parse(data []byte, opts Options) (Value, error) {
	if opts.MaxDepth <= 0 {
		opts.MaxDepth = defaultMaxDepth
	}
	if opts.AllowComments {
		text, err := blank(data)
		if err != nil {
			return Value{}, err
		}
		data = text
	}
	p := parser{data: data, opts: opts}
	start := skipSpace(data, 0)
	p.pos = start
	if err := p.value(0); err != nil {
		return Value{}, err
	}
	end := p.pos
	if p.space(); p.pos < len(data) {
		return Value{}, p.fail("unexpected text after the value")
	}
	return Value{raw: data[start:end]}, nil
}

type parser struct {
	data []byte
	pos  int
	opts Options
}

func (p *parser) fail(reason string) error { return &SyntaxError{p.pos, reason} }

func (p *parser) space() { p.pos = skipSpace(p.data, p.pos) }

// peek returns the byte at the position, or 0 at the end, which no JSON text
// has in a place where peek is asked.
func (p *parser) peek() byte {
	if p.pos < len(p.data) {
		return p.data[p.pos]
	}
	return 0
}

func (p *parser) value(depth int) error {
	switch c := p.peek(); {
	case c == '{':
		return p.object(depth + 1)
	case c == '[':
		return p.array(depth + 1)
	case c == '"':
		return p.text()
	case c == '-' || isDigit(c):
		return p.number()
	case c == 't':
		return p.word("true")
	case c == 'f':
		return p.word("false")
	case c == 'n':
		return p.word("null")
	case p.pos >= len(p.data):
		return p.fail("unexpected end")
	}
	return p.fail("a value is expected")
}

func (p *parser) word(w string) error {
	if len(p.data)-p.pos < len(w) || string(p.data[p.pos:p.pos+len(w)]) != w {
		return p.fail("a value is expected")
	}
	p.pos += len(w)
	return nil
}

func (p *parser) open(depth int) error {
	if depth > p.opts.MaxDepth {
		return p.fail("nested deeper than " + strconv.Itoa(p.opts.MaxDepth) + " levels")
	}
	p.pos++
	p.space()
	return nil
}

// next moves past a comma, or past the closing byte and reports done.
func (p *parser) next(closing byte, expected string) (done bool, err error) {
	p.space()
	switch p.peek() {
	case closing:
		p.pos++
		return true, nil
	case ',':
		p.pos++
		p.space()
		return false, nil
	}
	if p.pos >= len(p.data) {
		return false, p.fail("unexpected end")
	}
	return false, p.fail(expected)
}

func (p *parser) array(depth int) error {
	if err := p.open(depth); err != nil {
		return err
	}
	if p.peek() == ']' {
		p.pos++
		return nil
	}
	for {
		if err := p.value(depth); err != nil {
			return err
		}
		if done, err := p.next(']', "a comma or ] is expected"); done || err != nil {
			return err
		}
	}
}

func (p *parser) object(depth int) error {
	if err := p.open(depth); err != nil {
		return err
	}
	if p.peek() == '}' {
		p.pos++
		return nil
	}
	var seen keySet
	for {
		start := p.pos
		if err := p.member(depth); err != nil {
			return err
		}
		if !p.opts.AllowDuplicates && !seen.add(unquote(p.data[start:skipString(p.data, start)])) {
			p.pos = start
			return p.fail("duplicate key")
		}
		if done, err := p.next('}', "a comma or } is expected"); done || err != nil {
			return err
		}
	}
}

func (p *parser) member(depth int) error {
	if p.peek() != '"' {
		return p.fail("a key is expected")
	}
	if err := p.text(); err != nil {
		return err
	}
	p.space()
	if p.peek() != ':' {
		return p.fail("a colon is expected")
	}
	p.pos++
	p.space()
	return p.value(depth)
}
