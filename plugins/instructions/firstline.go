package instructions

import (
	"strings"
	"unicode/utf8"
)

// maxRunes keeps a description on a line or two of a table.
const maxRunes = 200

// firstLine returns the first line that isn't empty without its heading
// marks. Bytes that aren't UTF-8 and control characters become spaces.
func firstLine(head []byte) string {
	text := strings.TrimPrefix(string(head), "\ufeff")
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), "#"))
		if line = strings.TrimSpace(clean(line)); line != "" {
			return line
		}
	}
	return ""
}

func clean(line string) string {
	var b strings.Builder
	runes := 0
	for _, r := range line {
		if runes++; runes > maxRunes {
			return strings.TrimSpace(b.String()) + "…"
		}
		if r == utf8.RuneError || r < ' ' || r >= 0x7f && r < 0xa0 {
			r = ' '
		}
		b.WriteRune(r)
	}
	return b.String()
}
