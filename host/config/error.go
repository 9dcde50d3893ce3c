package config

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/BurntSushi/toml"

	"waymark/internal/text"
)

// Error says what is wrong with a configuration file, and where.
type Error struct {
	// File is the path as it was given to Load.
	File string
	// Line and Col count from 1, Col in bytes; 0 when the position is unknown.
	Line, Col int
	// Key is the full name of the key, like limits.time; empty for text that
	// isn't TOML.
	Key string
	// Message says what is wrong.
	Message string
	// Hint says how to mend it; may be empty.
	Hint string

	text string // the line
	span int    // how many bytes of it are meant
	more []*Error
}

// Unwrap returns what else is wrong, each an *Error, in the order of the files
// and in each of what stands there.
func (e *Error) Unwrap() []error {
	list := make([]error, len(e.more))
	for i := range e.more {
		list[i] = e.more[i]
	}
	return list
}

// Error returns one line: position, message, hint.
func (e *Error) Error() string {
	s := e.File
	if e.Line > 0 {
		s += fmt.Sprintf(":%d:%d", e.Line, e.Col)
	}
	s += ": " + e.Message
	if e.Hint != "" {
		s += ": " + e.Hint
	}
	return plain(s)
}

// Excerpt returns the line in question with a caret under the position, for a
// terminal; it is empty when that is unknown.
func (e *Error) Excerpt() string {
	if e.Line == 0 {
		return ""
	}
	before := e.text[:min(e.Col-1, len(e.text))]
	marked := e.text[len(before):min(len(before)+e.span, len(e.text))]
	gutter := fmt.Sprintf("%5d | ", e.Line)
	return gutter + plain(e.text) + "\n" +
		strings.Repeat(" ", len(gutter)) + blanks(before) +
		strings.Repeat("^", max(1, utf8.RuneCountInString(marked))) + "\n"
}

// plain keeps what isn't text away from the terminal, but for tabs, by which
// the caret is aligned.
func plain(s string) string {
	parts := strings.Split(s, "\t")
	for i := range parts {
		parts[i] = text.Printable(parts[i])
	}
	return strings.Join(parts, "\t")
}

// blanks returns as much white space as s takes; tabs stay tabs.
func blanks(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' {
			return r
		}
		return ' '
	}, plain(s))
}

// Locate makes an error of what somebody else has found wrong with the value of
// a key at the top or in a table of c: it has the key's position in the last of
// c's files that set it, where that can still be read.
func (c *Config) Locate(wrong error, key ...string) *Error {
	p := problem{path: key, message: keyName(key) + ": " + wrong.Error()}
	e := &Error{Key: keyName(key), Message: p.message}
	for _, file := range slices.Backward(c.Files) {
		e.File = file
		content, err := ReadFile(file)
		if err != nil {
			continue
		}
		d := document{file: file, text: content}
		if at := d.locate(&p); at.Line > 0 {
			return at
		}
	}
	return e
}

// locate turns a problem into an error with its position in the file.
//
// The TOML library knows where every value stands but says so only in its own
// errors. So the path to the value is walked once more, in undecoded steps, and
// at its end something is decoded that always fails.
func (d *document) locate(p *problem) *Error {
	e := &Error{File: d.file, Key: keyName(p.path), Message: p.message, Hint: p.hint}
	pos, ok := position(d.upToEntry(p), p.path, p.entry)
	if !ok {
		return e
	}
	start, span := pos.Start, pos.Len
	if p.unknown && len(p.path) > 0 {
		start, span = d.keyBefore(start, span, p.path[len(p.path)-1])
	}
	d.mark(e, start, span)
	return e
}

// mark sets the position of an error from a byte offset.
func (d *document) mark(e *Error, start, span int) {
	start = min(max(start, 0), len(d.text))
	lineStart := strings.LastIndexByte(d.text[:start], '\n') + 1
	line, _, _ := strings.Cut(d.text[lineStart:], "\n")
	e.Line = strings.Count(d.text[:start], "\n") + 1
	e.Col = start - lineStart + 1
	e.text, e.span = strings.TrimSuffix(line, "\r"), span
}

// keyBefore looks for a key on the line of its value, since that is where an
// unknown key is to be shown. Where it isn't found, the value will do.
func (d *document) keyBefore(start, span int, key string) (int, int) {
	lineStart := strings.LastIndexByte(d.text[:start], '\n') + 1
	if i := strings.LastIndex(d.text[lineStart:start], key); i >= 0 && key != "" {
		return lineStart + i, len(key)
	}
	// A table's value begins with its bracket: the key follows.
	line, _, _ := strings.Cut(d.text[start:], "\n")
	if i := strings.Index(line, key); i >= 0 && strings.HasPrefix(line, "[") && key != "" {
		return start + i, len(key)
	}
	return start, span
}

// lookalikes is how many lines that look like a header are tolerated.
const lookalikes = 8

// upToEntry cuts the text off behind the entry of a list that the problem is
// in: of equal keys in several entries, the library keeps only the last
// position. The whole text is returned when there is no such cut.
func (d *document) upToEntry(p *problem) string {
	if len(p.path) == 0 || p.path[0] != entriesKey && p.path[0] != conventionsKey {
		return d.text
	}
	key := p.path[0]
	header := regexp.MustCompile(`(?m)^[ \t]*\[\[[ \t]*["']?` + key + `["']?[ \t]*\]\]`)
	// The next header is the cut, but for lines inside multi-line strings that
	// only look like one.
	headers := header.FindAllStringIndex(d.text, p.entry+1+lookalikes)
	for _, at := range headers[min(p.entry+1, len(headers)):] {
		var raw map[string]any
		if _, err := toml.Decode(d.text[:at[0]], &raw); err != nil {
			continue // the header stands inside a multi-line string
		}
		if entries, ok := asTables(raw[key]); ok && len(entries) == p.entry+1 {
			return d.text[:at[0]]
		}
	}
	return d.text
}

// position returns where the value at path stands. Where a path goes through
// a list, it goes on in the given entry.
func position(text string, path []string, entry int) (toml.Position, bool) {
	var level map[string]toml.Primitive
	md, err := toml.Decode(text, &level)
	if err != nil || len(path) == 0 {
		return toml.Position{}, false
	}
	value, ok := level[path[0]]
	for _, key := range path[1:] {
		if !ok {
			return toml.Position{}, false
		}
		value, ok = deeper(&md, value, entry)[key]
	}
	for ok {
		if pos := positionOf(&md, value); pos.Line > 0 {
			return pos, true
		}
		// A table that only dotted keys made has no position of its own: that
		// of its first key will do.
		value, ok = firstOf(deeper(&md, value, entry))
	}
	return toml.Position{}, false
}

// deeper undoes one level of a value that is a table or a list of tables.
func deeper(md *toml.MetaData, value toml.Primitive, entry int) map[string]toml.Primitive {
	var one map[string]toml.Primitive
	if md.PrimitiveDecode(value, &one) == nil && one != nil {
		return one
	}
	var list []map[string]toml.Primitive
	if md.PrimitiveDecode(value, &list) == nil && entry < len(list) {
		return list[entry]
	}
	return nil
}

func firstOf(level map[string]toml.Primitive) (toml.Primitive, bool) {
	first, found := "", false
	for key := range level {
		if !found || key < first {
			first, found = key, true
		}
	}
	return level[first], found
}

func positionOf(md *toml.MetaData, value toml.Primitive) toml.Position {
	var parse toml.ParseError
	if errors.As(md.PrimitiveDecode(value, tripwire{}), &parse) {
		return parse.Position
	}
	return toml.Position{}
}

// tripwire can't be decoded into.
type tripwire struct{}

func (tripwire) UnmarshalTOML(any) error { return errors.New("here") }
