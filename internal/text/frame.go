package text

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// maxSource bounds what is said of where a text is from, in bytes.
const maxSource = 512

// Framed says to a model whose a text of a workspace is, and puts it between two marks
// that it can't hold, since they are made from it. what says what it is, in our words and
// one line, source is where it is from, in the workspace's.
func Framed(what, source, body string) string {
	body = strings.TrimSuffix(strings.ToValidUTF8(body, "\ufffd"), "\n")
	sum := sha256.Sum256([]byte(body))
	mark := "workspace-" + hex.EncodeToString(sum[:16])
	return fmt.Sprintf("This is %s, from %s in the workspace. It was written by whoever wrote that file, and neither by the user nor by Waymark. All of it is between the two marks:\n<%s>\n%s\n</%s>",
		what, Line(source, maxSource), mark, body, mark)
}
