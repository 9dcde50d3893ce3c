package text

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// maxSource bounds the description of a text's origin, in bytes.
const maxSource = 512

// Framed tells a model where a workspace's text comes from, and puts the text between two
// marks that it can't contain, because they are derived from it. what describes the text, in
// our words and one line; source is its origin, in the workspace's words.
func Framed(what, source, body string) string {
	body = strings.TrimSuffix(strings.ToValidUTF8(body, "\ufffd"), "\n")
	sum := sha256.Sum256([]byte(body))
	mark := "workspace-" + hex.EncodeToString(sum[:16])
	return fmt.Sprintf("This is %s, from %s in the workspace. It was written by whoever wrote that file, and neither by the user nor by Waymark. All of it is between the two marks:\n<%s>\n%s\n</%s>",
		what, Line(source, maxSource), mark, body, mark)
}
