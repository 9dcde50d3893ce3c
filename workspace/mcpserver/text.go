package mcpserver

import (
	"strings"
	"unicode"

	"waymark/internal/text"
)

const (
	// maxTitle limits a name or a title, in bytes.
	maxTitle = 128
	// maxDescription limits a description, in bytes.
	maxDescription = 1024
)

// line converts text from a workspace into a single line without invisible characters.
func line(s string, limit int) string { return text.Line(s, limit) }

// printableText removes invisible characters from a text of several lines.
func printableText(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsPrint(r) {
			return r
		}
		return -1
	}, strings.ToValidUTF8(s, "\ufffd"))
}
