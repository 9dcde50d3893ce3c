//go:build wasip1 || libyaml

package yaml

import (
	"strconv"
	"strings"
	"time"
)

// plainTag returns what a scalar without quotes and tag is.
func plainTag(s string) string {
	switch s {
	case "", "~", "null", "Null", "NULL":
		return TagNull
	case "true", "True", "TRUE", "false", "False", "FALSE", "<<",
		".nan", ".NaN", ".NAN", ".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF", "-.inf", "-.Inf", "-.INF":
		return TagOther
	}
	switch c := s[0]; {
	case c == '.':
		if _, err := strconv.ParseFloat(s, 64); err == nil {
			return TagOther
		}
	case c >= '0' && c <= '9', c == '+', c == '-':
		if isDate(s) || isNumber(strings.ReplaceAll(s, "_", "")) {
			return TagOther
		}
	}
	return TagStr
}

// isNumber reports whether a text is one, with its underscores taken out.
func isNumber(s string) bool {
	if _, err := strconv.ParseInt(s, 0, 64); err == nil {
		return true
	}
	if _, err := strconv.ParseUint(strings.TrimPrefix(s, "+"), 0, 64); err == nil {
		return true
	}
	if !looksFloat(s) {
		return false
	}
	_, err := strconv.ParseFloat(s, 64)
	return err == nil // else it is too large
}

// looksFloat matches [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?
func looksFloat(s string) bool {
	if s != "" && (s[0] == '-' || s[0] == '+') {
		s = s[1:]
	}
	whole, s := cutDigits(s)
	part := 0
	if s != "" && s[0] == '.' {
		part, s = cutDigits(s[1:])
	}
	if whole+part == 0 {
		return false
	}
	if s == "" {
		return true
	}
	if s[0] != 'e' && s[0] != 'E' {
		return false
	}
	if s = s[1:]; s != "" && (s[0] == '-' || s[0] == '+') {
		s = s[1:]
	}
	n, s := cutDigits(s)
	return n > 0 && s == ""
}

// cutDigits returns how many digits a text begins with, and the rest.
func cutDigits(s string) (n int, rest string) {
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n, s[n:]
}

// isDate reports whether a text is a timestamp, of which the library reads these
// forms.
func isDate(s string) bool {
	if n, rest := cutDigits(s); n != 4 || rest == "" || rest[0] != '-' {
		return false
	}
	for _, layout := range []string{
		"2006-1-2T15:4:5.999999999Z07:00", "2006-1-2t15:4:5.999999999Z07:00", "2006-1-2 15:4:5.999999999", "2006-1-2",
	} {
		if _, err := time.Parse(layout, s); err == nil {
			return true
		}
	}
	return false
}
