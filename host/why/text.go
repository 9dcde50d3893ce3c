package why

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maxDetail keeps a detail to what a person reads in a terminal.
	maxDetail = 700
	// maxShown is the longest path that a detail spells out; the whole one is
	// in Answer.Path.
	maxShown = 240
)

// oneLine makes what a person can read of a text: errors of resolvers can
// hold line breaks and worse.
func oneLine(s string) string {
	if len(s) > 4*maxDetail {
		s = s[:4*maxDetail]
	}
	s = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, strings.ToValidUTF8(s, "\uFFFD"))
	return cut(s, maxDetail)
}

// show spells a path in a detail, in quotes when it wouldn't be readable.
func show(path string) string {
	readable := utf8.ValidString(path) && strings.IndexFunc(path, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
	path = cut(path, maxShown)
	if !readable || path == "" {
		return strconv.Quote(path)
	}
	return path
}

// maxCommand is the longest path in a command: half a path is none.
const maxCommand = 400

// addSource is the command that makes a root of a directory.
func addSource(dir string) string {
	plain := func(r rune) bool {
		return r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r)) || strings.ContainsRune("/._-+,:@%=", r)
	}
	switch {
	case len(dir) > maxCommand:
		return "'agent sources add' with this directory"
	case strings.ContainsFunc(dir, func(r rune) bool { return !plain(r) }):
		return "'agent sources add " + strconv.Quote(dir) + "'"
	}
	return "'agent sources add " + dir + "'"
}

// cut shortens a text between two characters.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "…"
}

// count is a number with its noun.
func count(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + more
}
