package resolve

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"strings"
	"unicode/utf8"

	"waymark/internal/text"
)

// suspiciousText counts characters that a model reads but a person doesn't see: invisible
// ones, marks of text direction, and the tag characters U+E0000 to U+E007F. The text is
// pushed unchanged; the consumer decides.
func suspiciousText(data []byte) string {
	var invisible, bidi, tags int
	for i := skipASCII(data, 0); i < len(data); i = skipASCII(data, i) {
		r, size := utf8.DecodeRune(data[i:])
		switch {
		case isBidi(r):
			bidi++
		case r >= 0xE0000 && r <= 0xE007F:
			tags++
		case isInvisible(r) && (i != 0 || r != '\uFEFF'): // a byte order mark is no trick
			invisible++
		}
		i += size
	}
	var parts []string
	add := func(n int, what string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, what))
		}
	}
	add(invisible, "invisible")
	add(bidi, "bidirectional")
	add(tags, "tag")
	if parts == nil {
		return ""
	}
	return "contains " + strings.Join(parts, ", ") + " characters"
}

// skipASCII returns the index of the first byte from i on that isn't ASCII. It checks eight
// at a time, because it scans every byte of every payload.
func skipASCII(data []byte, i int) int {
	for ; i+8 <= len(data); i += 8 {
		if high := binary.LittleEndian.Uint64(data[i:]) & 0x8080808080808080; high != 0 {
			return i + bits.TrailingZeros64(high)/8
		}
	}
	for i < len(data) && data[i] < utf8.RuneSelf {
		i++
	}
	return i
}

// isBidi reports whether r is an explicit directional formatting character (UAX #9).
func isBidi(r rune) bool {
	return r == 0x061C || r == 0x200E || r == 0x200F || r >= 0x202A && r <= 0x202E || r >= 0x2066 && r <= 0x2069
}

// isInvisible reports whether r is a default-ignorable character that is invisible, except
// the variation selectors and joiners that emoji and several scripts need.
func isInvisible(r rune) bool {
	switch r {
	case 0xAD, 0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180E, 0x200B, 0x2060, 0x2061, 0x2062, 0x2063, 0x2064, 0x3164, 0xFEFF, 0xFFA0:
		return true
	}
	return r >= 0x206A && r <= 0x206F
}

// printable makes a name or warning from a workspace or guest fit for one line of text, of at
// most limit bytes.
func printable(s string, limit int) string { return text.Cut(text.Printable(s), limit) }

// maxShown is the usual limit of printable.
const maxShown = 300
