// Package frontmatter finds the YAML block at the head of a Markdown file and
// reads the simple ones of them without a YAML library.
//
// A YAML library costs a guest about 0.4 ms a file and a third of its load
// time, while most front matter is a few lines of "key: text". Scan reads
// those, and says so when a block needs more; the caller then hands the block
// to a library of its choice.
//
// # Guarantees
//
// Whenever Scan is sure, a YAML 1.1 or 1.2 library reads the same keys and the
// same strings (a fuzz test compares it with one). It is unsure rather than
// wrong about: indentation and continued lines, lists, flow style, anchors,
// aliases, tags, block scalars, comments, escapes, duplicate keys, keys that
// are no plain words, ": " inside a plain text, tabs, control characters and
// bytes that aren't UTF-8.
//
// # Concurrency
//
// Functions without state. Results are parts of the text they were given, or
// copies.
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
// around it; a byte order mark before the first and CRLF line ends are fine.
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
	return string(bytes.Trim(line, " \t")) == "---"
}
