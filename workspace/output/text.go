package output

import (
	"strings"
	"unicode/utf8"
)

// RuneEnd returns the length of the longest prefix of data, at most limit bytes, that ends
// on a rune. It excludes an incomplete rune at the end, unless last says that nothing will
// follow: then it isn't a rune. If limit is smaller than the first rune, that rune is
// included anyway. 0 means that there is only an incomplete rune.
func RuneEnd(data []byte, limit int, last bool) int {
	end := min(limit, len(data))
	start := end
	for start > 0 && end-start < utf8.UTFMax && !utf8.RuneStart(data[start-1]) {
		start--
	}
	if start == 0 || utf8.FullRune(data[start-1:end]) {
		return end // on a rune, or after an invalid byte
	}
	start-- // beginning of the rune that end would split
	switch {
	case !utf8.FullRune(data[start:]): // its rest may follow data
		if last {
			return end
		}
		return start
	case start > 0:
		return start
	}
	if _, size := utf8.DecodeRune(data); size > end {
		return size
	}
	return end
}

// ToText converts data to valid text: each invalid byte becomes U+FFFD.
func ToText(data []byte) string {
	if utf8.Valid(data) {
		return string(data)
	}
	var b strings.Builder
	b.Grow(len(data) + len(data)/8)
	for _, r := range string(data) {
		b.WriteRune(r)
	}
	return b.String()
}

// SkipHalfRune returns data without the rest of a rune whose beginning is missing.
func SkipHalfRune(data []byte) []byte {
	for range utf8.UTFMax - 1 {
		if len(data) == 0 || utf8.RuneStart(data[0]) {
			break
		}
		data = data[1:]
	}
	return data
}
