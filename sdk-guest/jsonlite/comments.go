package jsonlite

import "bytes"

// blank returns JSON for a text with comments and trailing commas: blanks stand where
// those were, so that offsets and lines stay what they are. Like the configuration files
// of editors, the text may begin with a byte order mark. What is wrong in other ways
// stays as it is, for the parser to say.
func blank(text []byte) ([]byte, error) {
	const mark = "\xef\xbb\xbf"
	out := bytes.Clone(text)
	if bytes.HasPrefix(out, []byte(mark)) {
		wipe(out[:len(mark)])
	}
	before, comma := byte(0), -1 // the last bytes that count: any, and a comma behind a value
	for i := 0; i < len(out); i++ {
		switch c := out[i]; c {
		case ' ', '\n', '\t', '\r':
			continue
		case '/':
			end := commentEnd(out, i)
			if end < 0 {
				return nil, &SyntaxError{i, "a comment is not closed"}
			}
			if end > i {
				wipe(out[i:end])
				i = end - 1
				continue
			}
		case '"':
			i = stringEnd(out, i) - 1
			comma = -1
		case ',':
			comma = -1
			if before != 0 && before != ',' && before != ':' && before != '[' && before != '{' {
				comma = i
			}
		case ']', '}':
			if comma >= 0 {
				out[comma] = ' '
			}
			comma = -1
		default:
			comma = -1
		}
		before = out[i]
	}
	return out, nil
}

// commentEnd returns the index after the comment that begins at i, i where none does,
// and -1 where it isn't closed.
func commentEnd(text []byte, i int) int {
	switch rest := text[i+1:]; {
	case bytes.HasPrefix(rest, []byte("/")):
		if n := bytes.IndexAny(rest, "\r\n"); n >= 0 {
			return i + 1 + n
		}
		return len(text)
	case bytes.HasPrefix(rest, []byte("*")):
		n := bytes.Index(rest[1:], []byte("*/"))
		if n < 0 {
			return -1
		}
		return i + len("/*") + n + len("*/")
	}
	return i
}

// stringEnd returns the index after the string that begins at i, which may be cut.
func stringEnd(text []byte, i int) int {
	for i++; i < len(text); i++ {
		switch text[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
	}
	return len(text)
}

// wipe puts blanks in the place of everything but line ends.
func wipe(text []byte) {
	for i, c := range text {
		if c != '\n' && c != '\r' {
			text[i] = ' '
		}
	}
}
