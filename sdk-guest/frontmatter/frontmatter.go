// Package frontmatter finds the YAML block at the head of a Markdown file and reads it
// without a YAML library, which would double the size of a guest and take more than ten times
// as long for each file.
//
// It reads the part of YAML that agents' files use: maps and lists, in block and flow style,
// nested; texts with and without quotes, over several lines, | and > with + and -; JSON on
// one line; comments. It doesn't read anchors, aliases, tags, merge keys, complex keys,
// unquoted keys with characters other than letters, digits and _ - $ . /, directives,
// indentation indicators, escapes that JSON doesn't have (except \x and \U), and quoted texts
// over several lines in brackets.
//
// # Guarantees
//
// Whenever Parse returns a value, a YAML 1.1 or 1.2 library reads the same keys and the same
// texts; a fuzz test compares it with one. Everything else, including a duplicate key, is an
// error with the line and the fault. With Options it reads more, as described there.
//
// Nothing panics. Time and memory are proportional to the block, which has at most 64 KiB,
// 2048 values, 32 levels and 256 keys in a map.
//
// Guests in other languages let the host read it, which answers with JSON. Package
// frontmattertest has the expected results for some blocks, in every language.
//
// # Concurrency
//
// The functions have no state. Results are parts of the text that they were given, or copies.
package frontmatter

import (
	"bytes"
	"errors"
)

var (
	// ErrNone says that the text doesn't begin with front matter.
	ErrNone = errors.New("no front matter: the first line is not ---")
	// ErrOpen says that there is no closing delimiter in the text.
	ErrOpen = errors.New("front matter is not closed: no line is just ---")
)

const bom = "\xef\xbb\xbf"

// Find returns the lines between the delimiters and what comes after the
// closing one. A delimiter is a line that is just ---, with or without blanks
// around it, those of Unicode too; a byte order mark before the first and CRLF line ends
// are fine.
//
// complete says that text is the whole file. When it isn't, a line counts only
// with its line end, so that a head cut in the middle of a line can't be
// mistaken; ErrOpen then means that more text is needed.
//
// # Errors
//
// ErrNone and ErrOpen.
func Find(text []byte, complete bool) (block, rest []byte, err error) {
	text = bytes.TrimPrefix(text, []byte(bom))
	line, rest, ended := cutLine(text)
	if !ended && !complete {
		return nil, nil, ErrOpen
	}
	if !isDelimiter(line) {
		return nil, nil, ErrNone
	}
	start := rest
	for len(rest) > 0 {
		before := len(start) - len(rest)
		line, rest, ended = cutLine(rest)
		if isDelimiter(line) && (ended || complete) {
			return start[:before], rest, nil
		}
	}
	return nil, nil, ErrOpen
}

// cutLine returns the first line without its end. ended is false when there
// is no line end.
func cutLine(text []byte) (line, rest []byte, ended bool) {
	line, rest, ended = bytes.Cut(text, []byte("\n"))
	return bytes.TrimSuffix(line, []byte("\r")), rest, ended
}

func isDelimiter(line []byte) bool {
	return len(line) >= 3 && string(bytes.TrimSpace(line)) == "---"
}
