package sandbox

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// head keeps the first max bytes that are written to it and drops the rest.
// It never fails: a guest that floods its standard error is not worth an
// error of its own.
type head struct {
	max int
	buf bytes.Buffer
}

func (h *head) Write(p []byte) (int, error) {
	if room := h.max - h.buf.Len(); room > 0 {
		h.buf.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

// panicText picks the lines that say what went wrong out of a guest's
// standard error: for Go the panic message without the traceback.
func panicText(stderr []byte) string {
	text := string(stderr)
	for _, mark := range []string{"panic: ", "fatal error: "} {
		if i := strings.Index(text, mark); i >= 0 {
			text = text[i:]
			break
		}
	}
	if i := strings.Index(text, "\n\ngoroutine "); i >= 0 {
		text = text[:i]
	}
	return oneLine(text, guestTextMax)
}

// cleanedMax is how much of a guest's text oneLine looks at for guestTextMax.
const cleanedMax = 4 * guestTextMax

// oneLine makes guest text fit for an error or a log line: valid UTF-8, no
// line breaks, no control characters or invisible directional marks, at most
// limit bytes.
func oneLine(s string, limit int) string {
	if len(s) > 4*limit { // don't clean what is cut off anyway
		s = s[:4*limit]
	}
	s = strings.ToValidUTF8(s, "\uFFFD")
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return -1
		}
		return r
	}, s)
	s = strings.Join(strings.Fields(s), " ")
	if len(s) <= limit {
		return s
	}
	cut := limit - len("…")
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}
