package launch

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"
)

// Paths, arguments and variables are arbitrary bytes, but JSON has only UTF-8. So bytes
// that aren't UTF-8 are encoded as a NUL, which none of these contains, and two hexadecimal
// digits.

func escape(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			b.WriteString("\x00" + hex.EncodeToString([]byte{s[i]}))
		} else {
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return b.String()
}

// unescape reverses escape. It leaves anything that escape didn't produce unchanged.
func unescape(s string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, "\x00")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		if len(after) < 2 {
			return b.String() + "\x00" + after
		}
		c, err := hex.DecodeString(after[:2])
		if err != nil {
			return b.String() + "\x00" + after
		}
		b.Write(c)
		s = after[2:]
	}
}

// each applies a function to all elements of a list; nil stays nil.
func each(list []string, f func(string) string) []string {
	list = slices.Clone(list)
	for i := range list {
		list[i] = f(list[i])
	}
	return list
}

// plainProfile is a Profile without methods.
type plainProfile Profile

// MarshalJSON preserves paths that aren't UTF-8.
func (p *Profile) MarshalJSON() ([]byte, error) {
	w := plainProfile(*p)
	w.Read, w.Write, w.List = each(p.Read, escape), each(p.Write, escape), each(p.List, escape)
	return json.Marshal(w)
}

// UnmarshalJSON reads the output of MarshalJSON. An unknown field is an error, because it
// may be a restriction.
func (p *Profile) UnmarshalJSON(data []byte) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	w := plainProfile{}
	if err := dec.Decode(&w); err != nil {
		return err
	}
	w.Read, w.Write, w.List = each(w.Read, unescape), each(w.Write, unescape), each(w.List, unescape)
	*p = Profile(w)
	return nil
}
