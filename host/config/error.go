package config

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Error says what is wrong with a configuration file, and where.
type Error struct {
	// File is the path as it was given to Load.
	File string
	// Line and Col count from 1, Col in bytes; 0 when the place is unknown.
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
}

// Error returns one line: place, message, hint.
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

// Excerpt returns the line in question with a caret under the place, for a
// terminal; it is empty when the place is unknown.
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

// plain keeps control characters of a file away from the terminal.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\t' && (r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0) {
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd"))
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
