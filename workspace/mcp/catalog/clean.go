package catalog

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Marks are what Clean took out of a text.
type Marks uint8

// What a text may hold that nobody sees.
const (
	// Invisible characters have no shape of their own: zero-width ones, those that
	// turn the direction of a line, tags, and variation selectors that vary nothing.
	// Models read them, and people don't.
	Invisible Marks = 1 << iota
	// Escapes are control characters and the sequences that begin with them, which
	// terminals act on.
	Escapes
)

// Clean takes out of a text what can't be seen, and says what that was. Line breaks
// and tabs stay; bytes that aren't UTF-8 become U+FFFD. What scripts and emoji need
// stays where they need it: joiners between two characters, one variation selector
// behind a character.
func Clean(s string) (string, Marks) {
	if plain(s) {
		return s, 0
	}
	s = strings.ToValidUTF8(s, "\uFFFD")
	var (
		b     strings.Builder
		marks Marks
		// What may follow: behind a character a selector or a joiner, behind a selector
		// a joiner (as in flags), behind anything else neither.
		varied, joined bool
		// endless says that no sequence of text ends any more: each would be looked
		// through to the end of all.
		endless bool
	)
	b.Grow(len(s))
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		rest := s[size:]
		switch {
		case r == '\n' || r == '\t':
			b.WriteRune(r)
			varied, joined = false, false
		case r == '\r' && strings.HasPrefix(rest, "\n"):
			// A line break of Windows is one.
		case unicode.IsControl(r):
			marks |= Escapes
			rest = afterEscape(r, rest, &endless)
			varied, joined = false, false
		case isJoiner(r) && joined && hasShape(rest):
			b.WriteRune(r)
			varied, joined = false, false
		case isSelector(r) && varied:
			b.WriteRune(r)
			varied = false
		case isInvisible(r):
			marks |= Invisible
			varied, joined = false, false
		default:
			b.WriteRune(r)
			varied, joined = true, true
		}
		s = rest
	}
	return b.String(), marks
}

// plain says that a text has nothing but printable ASCII, tabs and line breaks.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < ' ' && c != '\n' && c != '\t') || c > '~' {
			return false
		}
	}
	return true
}

// afterEscape returns what comes behind the sequence that a control character has
// begun: CSI to its final byte, OSC and the other strings to their end. Others are
// one character.
func afterEscape(r rune, s string, endless *bool) string {
	const csi, osc, dcs, sos, pm, apc = 0x9b, 0x9d, 0x90, 0x98, 0x9e, 0x9f
	if r == 0x1b {
		if s == "" {
			return s
		}
		kind, size := rune(s[0]), 1
		switch kind {
		case '[':
			r = csi
		case ']':
			r = osc
		case 'P', 'X', '^', '_':
			r = dcs
		default:
			if kind < 0x20 || kind > 0x7e {
				size = 0 // no sequence
			}
		}
		s = s[size:]
	}
	switch r {
	case csi:
		i := strings.IndexFunc(s, func(r rune) bool { return r < 0x20 || r > 0x3f })
		switch {
		case i < 0:
			return ""
		case s[i] >= 0x40 && s[i] <= 0x7e:
			return s[i+1:]
		}
		return s[i:]
	case osc, dcs, sos, pm, apc:
		// Without its end it is no sequence: what follows is text that people should see.
		if *endless {
			return s
		}
		for i, r := range s {
			switch {
			case r == 0x07 || r == 0x9c:
				return s[i+utf8.RuneLen(r):]
			case r == 0x1b && strings.HasPrefix(s[i+1:], `\`):
				return s[i+2:]
			}
		}
		*endless = true
	}
	return s
}

func isJoiner(r rune) bool { return r == 0x200c || r == 0x200d }

func isSelector(r rune) bool { return r >= 0xfe00 && r <= 0xfe0f }

// hasShape says that a text begins with a character that can be seen.
func hasShape(s string) bool {
	r, size := utf8.DecodeRuneInString(s)
	return size > 0 && !unicode.IsSpace(r) && !unicode.IsControl(r) && !isInvisible(r)
}

// isInvisible says that a character has no shape: formats (Cf), among them zero-width
// characters, direction marks and tags; selectors; line and paragraph separators;
// fillers, which are letters in name only.
func isInvisible(r rune) bool {
	switch {
	case isSelector(r), r >= 0xe0100 && r <= 0xe01ef: // variation selectors
		return true
	case r >= 0xe0000 && r <= 0xe0fff: // tags, and what is reserved beside them
		return true
	case r == 0x034f, r == 0x115f, r == 0x1160, r == 0x17b4, r == 0x17b5, r == 0x3164, r == 0xffa0:
		return true
	case r >= 0x180b && r <= 0x180f, r == 0x2028, r == 0x2029, r == 0x2800:
		return true
	}
	return unicode.Is(unicode.Cf, r) && !isNumberSign(r)
}

// isNumberSign says that a format character is drawn: signs that stand around numbers
// in Arabic, Syriac and Kaithi.
func isNumberSign(r rune) bool {
	return r >= 0x0600 && r <= 0x0605 || r == 0x06dd || r == 0x070f || r == 0x08e2 || r == 0x110bd || r == 0x110cd
}
