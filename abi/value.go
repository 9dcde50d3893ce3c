package abi

import "errors"

// ErrValue says that an attribute is neither a string nor a list of strings.
var ErrValue = errors.New("an attribute is a string or a list of strings")

// MarshalJSON returns the value as a JSON string or a list of them, for any JSON library that
// knows the method. Bytes that aren't UTF-8 become U+FFFD.
func (v Value) MarshalJSON() ([]byte, error) {
	if !v.IsList() {
		return appendString(nil, v.Text), nil
	}
	buf := []byte{'['}
	for i, s := range v.List {
		if i > 0 {
			buf = append(buf, ',')
		}
		buf = appendString(buf, s)
	}
	return append(buf, ']'), nil
}

// UnmarshalJSON reads a JSON string or a list of them. It assumes that data is valid JSON,
// which every JSON library checks before it calls the method.
//
// # Errors
//
// ErrValue for every other value, null included.
func (v *Value) UnmarshalJSON(data []byte) error {
	data = skipSpace(data)
	if len(data) > 0 && data[0] == '"' {
		s, _, err := cutString(data)
		*v = String(s)
		return err
	}
	if len(data) == 0 || data[0] != '[' {
		return ErrValue
	}
	list := []string{}
	for data = skipSpace(data[1:]); len(data) > 0 && data[0] != ']'; {
		s, rest, err := cutString(data)
		if err != nil {
			return err
		}
		list = append(list, s)
		if data = skipSpace(rest); len(data) > 0 && data[0] == ',' {
			data = skipSpace(data[1:])
		}
	}
	*v = Strings(list...)
	return nil
}

func appendString(buf []byte, s string) []byte {
	const hex = "0123456789abcdef"
	buf = append(buf, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			buf = append(buf, '\\', byte(r))
		case r < ' ':
			buf = append(buf, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
		default:
			buf = append(buf, string(r)...)
		}
	}
	return append(buf, '"')
}

func skipSpace(data []byte) []byte {
	for len(data) > 0 && (data[0] == ' ' || data[0] == '\t' || data[0] == '\n' || data[0] == '\r') {
		data = data[1:]
	}
	return data
}

// cutString reads the string literal at the start of data.
func cutString(data []byte) (s string, rest []byte, err error) {
	if len(data) == 0 || data[0] != '"' {
		return "", nil, ErrValue
	}
	var buf []byte
	for i := 1; i < len(data); {
		switch c := data[i]; c {
		case '"':
			return string([]rune(string(buf))), data[i+1:], nil // bad UTF-8 becomes U+FFFD
		case '\\':
			r, n := unescape(data[i:])
			buf = append(buf, string(r)...)
			i += n
		default:
			buf = append(buf, c)
			i++
		}
	}
	return "", nil, ErrValue
}

// unescape reads the escape at the start of data and returns its length.
func unescape(data []byte) (r rune, n int) {
	if len(data) < 2 {
		return '\\', 1
	}
	switch data[1] {
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
		return rune(data[1]), 2
	}
	r = hex4(data[2:])
	if r >= 0xD800 && r < 0xDC00 && len(data) >= 12 && data[6] == '\\' && data[7] == 'u' {
		if low := hex4(data[8:]); low >= 0xDC00 && low < 0xE000 {
			return 0x10000 + (r-0xD800)<<10 + (low - 0xDC00), 12
		}
	}
	return r, min(6, len(data)) // string(r) makes U+FFFD of a lone surrogate
}

func hex4(data []byte) (r rune) {
	for _, c := range data[:min(4, len(data))] {
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c >= 'a' && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case c >= 'A' && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		}
	}
	return r
}
