package edit

import "strings"

// looked is how many bytes of a file decide whether it is binary. It is git's number, so
// that what a diff calls binary isn't edited, and what has a diff is.
const looked = 8000

// notText says what a file is that can't be edited by searching; "" for text. In UTF-16 a
// search wouldn't be found, or half a character would be replaced.
func notText(content string) string {
	const utf16 = "the file is UTF-16: convert it first, as with iconv"
	switch head := content[:min(len(content), looked)]; {
	case strings.HasPrefix(head, "\xff\xfe\x00\x00"), strings.HasPrefix(head, "\x00\x00\xfe\xff"):
		return "the file is UTF-32: convert it first, as with iconv"
	case strings.HasPrefix(head, "\xff\xfe"), strings.HasPrefix(head, "\xfe\xff"):
		return utf16
	case strings.IndexByte(head, 0) < 0:
		return ""
	case alternates(head):
		return utf16
	}
	return "the file is binary: use a command"
}

// alternates reports whether NUL bytes are at even or at odd places alone, and at most of
// these: UTF-16 without a byte order mark.
func alternates(head string) bool {
	var nul [2]int
	for i := range len(head) {
		if head[i] == 0 {
			nul[i%2]++
		}
	}
	return min(nul[0], nul[1]) == 0 && max(nul[0], nul[1]) > len(head)/4
}
