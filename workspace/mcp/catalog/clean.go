package catalog

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Marks says what Clean removed from a text.
type Marks uint8

// Kinds of hidden content in a text.
const (
	// Invisible characters have no shape of their own: zero-width characters, direction
	// marks, tags, and variation selectors that vary nothing. Models read them, but people
	// don't see them.
	Invisible Marks = 1 << iota
	// Escapes are control characters and the sequences that they begin, which terminals
	// interpret.
	Escapes
)

// Clean removes what can't be seen from a text, and says what it removed. It keeps line
// breaks and tabs, and replaces invalid UTF-8 by U+FFFD. Characters that scripts and emoji
// need are kept where they make sense: joiners between two characters, one variation
// selector after a character.
func Clean(s string) (string, Marks) {
	if plain(s) {
		return s, 0
	}
	s = strings.ToValidUTF8(s, "\uFFFD")
	var (
		b     strings.Builder
		marks Marks
		// What may follow: after a character a selector or a joiner, after a selector a
		// joiner (as in flags), after anything else neither.
		varied, joined bool
		// endless says that no string sequence is terminated any more. It avoids searching
		// the rest of the text for each of them.
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
			// keep the CR of a Windows line break
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

// plain reports whether a text has only printable ASCII, tabs and line breaks.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < ' ' && c != '\n' && c != '\t') || c > '~' {
			return false
		}
	}
	return true
}

// afterEscape returns what follows the sequence that a control character begins: a CSI
// sequence ends with its final byte, OSC and the other strings with their terminator. Any
// other control character stands alone.
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
				size = 0 // not a sequence
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
		// Without its terminator it isn't a sequence: people should see the text that
		// follows.
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

// hasShape reports whether a text begins with a visible character.
func hasShape(s string) bool {
	r, size := utf8.DecodeRuneInString(s)
	return size > 0 && !unicode.IsSpace(r) && !unicode.IsControl(r) && !isInvisible(r)
}

// isInvisible reports whether a character has no shape: format characters (Cf), among them
// zero-width characters, direction marks and tags; selectors; line and paragraph
// separators; fillers, which are letters only formally.
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

// isNumberSign reports whether a format character is visible: signs around numbers in
// Arabic, Syriac and Kaithi.
func isNumberSign(r rune) bool {
	return r >= 0x0600 && r <= 0x0605 || r == 0x06dd || r == 0x070f || r == 0x08e2 || r == 0x110bd || r == 0x110cd
}
