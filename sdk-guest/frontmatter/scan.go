package frontmatter

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// Type says what a value certainly is.
type Type int

// The types of values.
const (
	// Other is a scalar that may be a number, a boolean, a date or, after
	// all, a string: only a YAML library can tell.
	Other Type = iota
	// String is a string in every version of YAML.
	String
	// Null is nothing, or one of the words for it.
	Null
)

// Field is one line of a simple block.
type Field struct {
	Key string
	// Value is the text, without quotes.
	Value string
	Type  Type
}

// maxKey is far below the 1024 characters that YAML allows for a key on one
// line.
const maxKey = 128

// maxFields bounds the time that looking for duplicates takes; it is far more
// than front matter has.
const maxFields = 64

// Scan reads a block whose lines are all "key: text", with plain or simply
// quoted text, or blank, at most 64 of them. It returns sure = false for
// everything else.
func Scan(block []byte) (fields []Field, sure bool) {
	for len(block) > 0 {
		var line []byte
		line, block, _ = cutLine(block)
		if len(bytes.Trim(line, " ")) == 0 {
			continue
		}
		f, ok := scanLine(line)
		if !ok || len(fields) == maxFields || Lookup(fields, f.Key) != nil {
			return nil, false
		}
		fields = append(fields, f)
	}
	return fields, true
}

// Lookup returns the field with a key, or nil.
func Lookup(fields []Field, key string) *Field {
	for i := range fields {
		if fields[i].Key == key {
			return &fields[i]
		}
	}
	return nil
}

func scanLine(line []byte) (Field, bool) {
	n := keyLength(line)
	if n == 0 || n > maxKey || n == len(line) || line[n] != ':' || !printable(line) {
		return Field{}, false
	}
	f := Field{Key: string(line[:n])}
	if isSpecial(f.Key) {
		return Field{}, false // the key isn't a string
	}
	text := line[n+1:]
	if len(text) > 0 && text[0] != ' ' {
		return Field{}, false // "key:text" is one scalar
	}
	var ok bool
	f.Value, f.Type, ok = scanText(string(bytes.Trim(text, " ")))
	return f, ok
}

// keyLength returns the length of the word at the start of a line. Only such
// keys are scanned: they can't be taken for anything but a string, except for
// the special words.
func keyLength(line []byte) int {
	for i, c := range line {
		if letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'; letter {
			continue
		}
		if inner := c >= '0' && c <= '9' || c == '-'; i > 0 && inner {
			continue
		}
		return i
	}
	return len(line)
}

// scanText reads a scalar that stands alone on the rest of its line.
func scanText(s string) (value string, typ Type, ok bool) {
	if s == "" {
		return "", Null, true
	}
	switch c := s[0]; {
	case c == '"' || c == '\'':
		inner, found := strings.CutSuffix(s[1:], s[:1])
		if !found || strings.IndexByte(inner, c) >= 0 || c == '"' && strings.IndexByte(inner, '\\') >= 0 {
			return "", Other, false
		}
		return inner, String, true
	case strings.IndexByte("-?:,[]{}#&*!|>%@`", c) >= 0:
		return "", Other, false
	}
	if strings.Contains(s, ": ") || strings.Contains(s, " #") || s[len(s)-1] == ':' {
		return "", Other, false
	}
	return s, plainType(s), true
}

// plainType says what a plain scalar is. Numbers and dates of every YAML
// version begin with one of a few characters, so that whatever begins with
// another one and is no special word is a string.
func plainType(s string) Type {
	switch {
	case s == "~" || s == "null" || s == "Null" || s == "NULL":
		return Null
	case strings.IndexByte("0123456789+.~<=", s[0]) >= 0 || isSpecial(s):
		return Other
	}
	return String
}

// isSpecial reports whether a word is a boolean or a null in some version of
// YAML, in any case.
func isSpecial(s string) bool {
	if len(s) > len("false") {
		return false
	}
	switch strings.ToLower(s) {
	case "true", "false", "null", "yes", "no", "on", "off", "y", "n":
		return true
	}
	return false
}

// printable reports whether a line holds only characters that YAML takes as
// they are and that end no line in any version of it.
func printable(line []byte) bool {
	for i := 0; i < len(line); {
		if c := line[i]; c < utf8.RuneSelf {
			if c < ' ' || c == 0x7f {
				return false
			}
			i++
			continue
		}
		r, size := utf8.DecodeRune(line[i:])
		switch {
		case r == utf8.RuneError && size == 1, r < 0xa0, // bad bytes, C1 controls
			r == 0x2028, r == 0x2029, // line and paragraph separator
			r == 0xfeff, r == 0xfffe, r == 0xffff: // byte order mark, non-characters
			return false
		}
		i += size
	}
	return true
}
