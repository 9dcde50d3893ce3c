package why

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"waymark/internal/text"
)

const (
	// maxDetail limits a detail to what a person reads in a terminal.
	maxDetail = 700
	// maxQuoted is the longest path that a detail spells out; Answer.Path has the whole one.
	maxQuoted = 240
)

// quotePath spells a path in a detail, quoted if it isn't readable otherwise.
func quotePath(path string) string {
	readable := path != "" && path == text.Printable(path) && utf8.ValidString(path)
	path = text.Cut(path, maxQuoted)
	if !readable {
		return strconv.Quote(path)
	}
	return path
}

// errorLine makes one line of an error's text, because resolvers write into theirs.
func errorLine(s string) string { return text.Line(s, maxDetail) }

// maxCommand is the longest path in a command, because half a path is useless.
const maxCommand = 400

// addSource returns the command that makes a root of a directory or a file.
func (q *question) addSource(path string) string {
	if q.in.Once {
		return command("agent run --source ", path)
	}
	return command("agent sources add ", path)
}

// command returns a command for a directory, as it is to be typed.
func command(command, path string) string {
	plain := func(r rune) bool {
		return r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r)) || strings.ContainsRune("/._-+,:@%=", r)
	}
	switch {
	case len(path) > maxCommand:
		return "'" + strings.TrimSpace(command) + "' with this directory"
	case strings.ContainsFunc(path, func(r rune) bool { return !plain(r) }):
		return "'" + command + strconv.Quote(path) + "'"
	}
	return "'" + command + path + "'"
}
