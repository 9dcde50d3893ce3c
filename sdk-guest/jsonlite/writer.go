package jsonlite

import (
	"slices"
	"strconv"
	"unicode/utf8"
	"unsafe"
)

// Writer builds one JSON value. The zero value is ready for use. The order of
// calls is the caller's business: a Key before each member's value, an End for
// each Begin.
type Writer struct {
	buf   []byte
	comma bool // the next key or value needs one before it
}

// Grow makes room for n more bytes at once.
func (w *Writer) Grow(n int) { w.buf = slices.Grow(w.buf, n) }

// Bytes returns what has been written. It is valid until the next call.
func (w *Writer) Bytes() []byte { return w.buf }

// BeginObject starts an object.
func (w *Writer) BeginObject() { w.begin('{') }

// EndObject ends the object begun last.
func (w *Writer) EndObject() { w.end('}') }

// BeginArray starts an array.
func (w *Writer) BeginArray() { w.begin('[') }

// EndArray ends the array begun last.
func (w *Writer) EndArray() { w.end(']') }

// Key writes the key of a member, whose value must come next.
func (w *Writer) Key(key string) {
	w.separate()
	w.buf = append(AppendString(w.buf, key), ':')
	w.comma = false
}

// RawKey is Key for one that is JSON text already, with its quotes: what every row
// has need not be looked at for every row.
func (w *Writer) RawKey(key string) {
	w.separate()
	w.buf = append(append(w.buf, key...), ':')
	w.comma = false
}

// String writes a string.
func (w *Writer) String(s string) {
	w.separate()
	w.buf = AppendString(w.buf, s)
}

// Int writes an integer.
func (w *Writer) Int(n int64) {
	w.separate()
	w.buf = strconv.AppendInt(w.buf, n, 10)
}

// Bool writes a boolean.
func (w *Writer) Bool(b bool) {
	w.separate()
	w.buf = strconv.AppendBool(w.buf, b)
}

// Null writes null.
func (w *Writer) Null() { w.Raw([]byte("null")) }

// Raw writes a value that is JSON text already.
func (w *Writer) Raw(json []byte) {
	w.separate()
	w.buf = append(w.buf, json...)
}

// RawString is Raw for a string. In an array it may hold several values with
// commas in between.
func (w *Writer) RawString(json string) {
	w.separate()
	w.buf = append(w.buf, json...)
}

// Follow says that a value will be put here by other means, so that what comes
// next in this array needs a comma.
func (w *Writer) Follow() { w.comma = true }

func (w *Writer) begin(c byte) {
	w.separate()
	w.buf = append(w.buf, c)
	w.comma = false
}

func (w *Writer) end(c byte) {
	w.buf = append(w.buf, c)
	w.comma = true
}

func (w *Writer) separate() {
	if w.comma {
		w.buf = append(w.buf, ',')
	}
	w.comma = true
}

// AppendString appends s as a JSON string literal. Bytes that aren't UTF-8
// become U+FFFD.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0 // of what is copied as it is
	for i := plainWords(s); i < len(s); {
		c := s[i]
		if isPlain(c) {
			i++
			continue
		}
		if c < utf8.RuneSelf {
			dst = append(dst, s[start:i]...)
			dst = appendEscape(dst, c)
			start = i + 1
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			dst = append(dst, s[start:i]...)
			dst = utf8.AppendRune(dst, utf8.RuneError)
			start = i + 1
		}
		i += size
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

// StringLen is the length of what AppendString appends.
func StringLen(s string) int {
	i := plainWords(s)
	n := len(`""`) + i
	for i < len(s) {
		c := s[i]
		switch {
		case isPlain(c):
			n++
			i++
		case c < utf8.RuneSelf:
			n += escapeLen(c)
			i++
		default:
			r, size := utf8.DecodeRuneInString(s[i:])
			n += utf8.RuneLen(r)
			i += size
		}
	}
	return n
}

// plain has a bit for each byte that stands for itself in a string literal,
// whatever comes before and after. Testing the bit replaces four comparisons for
// every byte that is written.
var plain = [4]uint64{
	^uint64(1<<' '-1) &^ (1 << '"'),
	^uint64(0) &^ (1 << ('\\' - 64)),
}

// plainWords returns how many bytes at the start of s stand for themselves, by
// words of eight.
func plainWords(s string) int {
	const each, top = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; i+8 <= len(s); i += 8 {
		w := *(*uint64)(unsafe.Pointer(unsafe.StringData(s[i:]))) //nolint:gosec // eight bytes are there; in any order
		quote, slash := w^each*'"', w^each*'\\'
		// The top bit of a byte is set where that is not ASCII, below a blank,
		// or one of the two; above one of these also where it isn't.
		if (w|(w-each*' ')|(quote-each)&^quote|(slash-each)&^slash)&top != 0 {
			break
		}
	}
	return i
}

func isPlain(c byte) bool { return plain[c>>6]>>(c&63)&1 != 0 }

func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	const hex = "0123456789abcdef"
	return append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}

// escapeLen is the length of what appendEscape appends.
func escapeLen(c byte) int {
	switch c {
	case '"', '\\', '\n', '\r', '\t':
		return len(`\n`)
	}
	return len(`\u0000`)
}
