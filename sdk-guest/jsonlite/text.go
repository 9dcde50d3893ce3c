package jsonlite

import "unicode/utf8"

const (
	surrogateMin    = 0xD800 // first high surrogate
	surrogateLow    = 0xDC00 // first low surrogate
	surrogateMax    = 0xDFFF // last low surrogate
	surrogateOffset = 0x10000
)

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func skipSpace(data []byte, i int) int {
	for i < len(data) && (data[i] == ' ' || data[i] == '\n' || data[i] == '\t' || data[i] == '\r') {
		i++
	}
	return i
}

// skipString returns the index after the string that starts at i. The text
// has been checked.
func skipString(data []byte, i int) int {
	for i++; data[i] != '"'; i++ {
		if data[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// skipValue returns the index after the value that starts at i. The text has
// been checked.
func skipValue(data []byte, i int) int {
	depth := 0
	for ; i < len(data); i++ {
		switch data[i] {
		case '"':
			i = skipString(data, i) - 1
		case '{', '[':
			depth++
			continue
		case '}', ']':
			depth--
		case ',', ':', ' ', '\n', '\t', '\r':
			continue
		default: // a number or a word
			for i+1 < len(data) && isWord(data[i+1]) {
				i++
			}
		}
		if depth == 0 {
			return i + 1
		}
	}
	return i
}

func isWord(c byte) bool {
	return isDigit(c) || c >= 'a' && c <= 'z' || c == 'E' || c == '.' || c == '+' || c == '-'
}

// unquote returns the value of a string literal that has been checked.
func unquote(lit []byte) string {
	lit = lit[1 : len(lit)-1]
	i := plainPrefix(lit)
	if i == len(lit) {
		return string(lit)
	}
	buf := append(make([]byte, 0, len(lit)), lit[:i]...)
	for i < len(lit) {
		if lit[i] != '\\' {
			r, size := utf8.DecodeRune(lit[i:])
			buf = utf8.AppendRune(buf, r)
			i += size
			continue
		}
		r, size := unescape(lit[i:])
		buf = utf8.AppendRune(buf, r)
		i += size
	}
	return string(buf)
}

// plainPrefix returns how much of s stands for itself.
func plainPrefix(s []byte) int {
	for i := 0; i < len(s); {
		if s[i] == '\\' {
			return i
		}
		if s[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, size := utf8.DecodeRune(s[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return len(s)
}

// unescape reads the escape at the start of s and returns its rune and length.
func unescape(s []byte) (rune, int) {
	switch s[1] {
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
	default:
		return rune(s[1]), 2
	}
	if r, ok := surrogatePair(s); ok {
		return r, 12
	}
	r, _ := hex4(s[2:])
	if r >= surrogateMin && r <= surrogateMax {
		r = utf8.RuneError
	}
	return r, 6
}

// surrogatePair reads \uD8xx\uDCxx at the start of s.
func surrogatePair(s []byte) (rune, bool) {
	if len(s) < 12 || s[6] != '\\' || s[7] != 'u' {
		return 0, false
	}
	hi, _ := hex4(s[2:])
	lo, ok := hex4(s[8:])
	if !ok || hi < surrogateMin || hi >= surrogateLow || lo < surrogateLow || lo > surrogateMax {
		return 0, false
	}
	return ((hi-surrogateMin)<<10 | (lo - surrogateLow)) + surrogateOffset, true
}

func hex4(s []byte) (rune, bool) {
	if len(s) < 4 {
		return 0, false
	}
	var r rune
	for _, c := range s[:4] {
		switch {
		case isDigit(c):
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// keySet holds the keys of one object. Most objects are small, where looking
// through a slice beats a map and costs less to link.
type keySet struct {
	list []string
	big  map[string]struct{}
}

// smallKeys is where looking through all keys gets slower than hashing.
const smallKeys = 16

// add reports whether the key is new.
func (s *keySet) add(key string) bool {
	if s.big != nil {
		_, old := s.big[key]
		s.big[key] = struct{}{}
		return !old
	}
	for _, k := range s.list {
		if k == key {
			return false
		}
	}
	s.list = append(s.list, key)
	if len(s.list) > smallKeys {
		s.big = make(map[string]struct{}, 2*len(s.list))
		for _, k := range s.list {
			s.big[k] = struct{}{}
		}
	}
	return true
}
