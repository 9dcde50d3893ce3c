// Package text makes texts of others fit to be shown: names, warnings and
// errors come from workspaces, modules, servers and peers, and end in terminals,
// logs and errors.
//
// # Guarantees
//
// Whatever the input, the result of Printable, Line and Cut is valid UTF-8 if
// Printable or Line has made it, and holds nothing that a terminal would act on
// or that can't be seen: no control characters, no line breaks (but see each
// function), no marks that change the direction of a line.
//
// The functions are pure and safe for concurrent use. They take time in
// proportion to what they return, not to what they are given, where they have a
// limit.
package text

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printable replaces every character that can't be seen, line breaks and bytes
// that aren't UTF-8 with U+FFFD. Spaces stay, tabs don't.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// Reveal writes what can't be seen as its number, ⟨U+200B⟩, for a text that somebody
// is to judge: control characters, formatting, bytes that aren't UTF-8, and the
// letters and marks that are drawn as nothing. Line feeds and spaces stay.
func Reveal(s string) string {
	if !strings.ContainsFunc(s, unseen) && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, "⟨%02X⟩", s[0])
		case unseen(r):
			fmt.Fprintf(&b, "⟨%U⟩", r)
		default:
			b.WriteRune(r)
		}
		s = s[size:]
	}
	return b.String()
}

// unseen reports whether a character is drawn as nothing, or acted on.
func unseen(r rune) bool {
	const blankBraille = '\u2800'
	return r != '\n' && (!unicode.IsPrint(r) || r == blankBraille || unicode.Is(unicode.Variation_Selector, r) || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r))
}

// Line makes one line of at most limit bytes, for an error or a log: white
// space of any kind and length becomes one space, what can't be seen is
// dropped, and a line that is cut ends with "…".
func Line(s string, limit int) string {
	if len(s) > 4*limit { // what is cut off anyway isn't cleaned
		s = s[:4*limit]
	}
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	return Cut(strings.Join(strings.Fields(s), " "), limit)
}

const ellipsis = "…"

// Cut shortens a text to at most limit bytes, between two characters, and ends
// what it has shortened with "…". A limit below the length of that gives the
// empty text.
func Cut(s string, limit int) string {
	switch {
	case len(s) <= limit:
		return s
	case limit < len(ellipsis):
		return ""
	}
	return Truncate(s, limit-len(ellipsis)) + ellipsis
}

// Truncate shortens a text to at most limit bytes, between two characters, and
// doesn't say so.
func Truncate(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	limit = max(limit, 0)
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

// Count is a number with its noun: "1 file", "2 files".
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// Head is an io.Writer that keeps the first Max bytes that are written to it
// and drops the rest. It never fails: a guest or a child that floods its
// standard error is not worth an error of its own. Not safe for concurrent use.
type Head struct {
	Max  int
	kept []byte
}

// Write implements io.Writer.
func (h *Head) Write(p []byte) (int, error) {
	h.kept = append(h.kept, p[:max(0, min(len(p), h.Max-len(h.kept)))]...)
	return len(p), nil
}

// Bytes returns what was kept. It is valid until the next Write.
func (h *Head) Bytes() []byte { return h.kept }

// String returns what was kept.
func (h *Head) String() string { return string(h.kept) }
