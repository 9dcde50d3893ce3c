package mcpserver

import (
	"strings"
	"unicode"

	"waymark/internal/text"
)

const (
	// maxTitle bounds a name or a title, in bytes.
	maxTitle = 128
	// maxDescription bounds a description, in bytes.
	maxDescription = 1024
)

// line makes one line of a workspace's text, without what can't be seen.
func line(s string, limit int) string { return text.Line(s, limit) }

// printableText is a text of several lines without characters that can't be seen.
func printableText(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsPrint(r) {
			return r
		}
		return -1
	}, strings.ToValidUTF8(s, "\ufffd"))
}
