package mcpserver

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
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

// framed says whose a text is, and puts it between two marks that it can't hold, since they
// are made from it.
func framed(what, source, body string) string {
	sum := sha256.Sum256([]byte(body))
	mark := "workspace-" + hex.EncodeToString(sum[:16])
	return fmt.Sprintf("This is %s, from %s in the workspace. It was written by whoever wrote that file, and neither by the user nor by Waymark. All of it is between the two marks:\n<%s>\n%s\n</%s>",
		what, line(source, 512), mark, strings.TrimSuffix(body, "\n"), mark)
}
