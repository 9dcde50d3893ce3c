package output

import (
	"strings"
	"unicode/utf8"
)

// RuneEnd returns how much of data, at most limit bytes, makes text that ends on
// a rune. Where the last one is half written it stays out, unless nothing follows
// data for ever, which last says: then it isn't one. Where limit is smaller than
// the first rune, that is returned all the same. 0 means that there is nothing
// but the beginning of a rune.
func RuneEnd(data []byte, limit int, last bool) int {
	end := min(limit, len(data))
	start := end
	for start > 0 && end-start < utf8.UTFMax && !utf8.RuneStart(data[start-1]) {
		start--
	}
	if start == 0 || utf8.FullRune(data[start-1:end]) {
		return end // on a rune, or on a byte that belongs to none
	}
	start-- // where the rune begins that end divides
	switch {
	case !utf8.FullRune(data[start:]): // it goes on where data ends
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

// ToText makes valid text of data: each byte that is no part of a rune becomes
// U+FFFD.
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

// SkipHalfRune returns data without the rest of a rune whose beginning is gone.
func SkipHalfRune(data []byte) []byte {
	for range utf8.UTFMax - 1 {
		if len(data) == 0 || utf8.RuneStart(data[0]) {
			break
		}
		data = data[1:]
	}
	return data
}
