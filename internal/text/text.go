// Package text makes foreign texts fit for display: names, warnings and errors come from
// workspaces, modules, servers and peers, and end up in terminals, logs and errors.
//
// # Guarantees
//
// Whatever the input, the result of Printable and Line is valid UTF-8, and so is that of Cut
// if its input comes from one of them. It contains nothing invisible or that a terminal would
// act on: no control characters, no line breaks (but see each function), no marks that change
// the direction of a line.
//
// The functions are pure and safe for concurrent use. Those with a limit take time in
// proportion to what they return, not to their input.
package text

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printable replaces invisible characters, line breaks and bytes that aren't UTF-8 with
// U+FFFD. It keeps spaces, but not tabs.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// Reveal writes invisible characters as their number, ⟨U+200B⟩, for a text that somebody is
// to judge: control characters, formatting, bytes that aren't UTF-8, and letters and marks
// that are drawn as nothing. It keeps line feeds and spaces.
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

// unseen reports whether a character is invisible, or a terminal would act on it.
func unseen(r rune) bool {
	const blankBraille = '\u2800'
	return r != '\n' && (!unicode.IsPrint(r) || r == blankBraille || unicode.Is(unicode.Variation_Selector, r) || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r))
}

// Line makes one line of at most limit bytes, for an error or a log: white space of any kind
// and length becomes one space, invisible characters are dropped, and a line that is cut ends
// with "…".
func Line(s string, limit int) string {
	if len(s) > 4*limit { // don't clean what is cut off anyway
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

// Cut shortens a text to at most limit bytes, between two characters, and ends a shortened
// text with "…". If limit is below the length of that, the result is empty.
func Cut(s string, limit int) string {
	switch {
	case len(s) <= limit:
		return s
	case limit < len(ellipsis):
		return ""
	}
	return Truncate(s, limit-len(ellipsis)) + ellipsis
}

// Truncate shortens a text to at most limit bytes, between two characters, without a mark.
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

// Count formats a number with its noun: "1 file", "2 files".
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// Head is an io.Writer that keeps the first Max bytes written to it and drops the rest. It
// never fails, because a guest or a child that floods its standard error shouldn't cause
// another error. It isn't safe for concurrent use.
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
