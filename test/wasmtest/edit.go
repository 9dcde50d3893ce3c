package wasmtest

import (
	"encoding/binary"
	"slices"
)

// WithSection puts a section into a module, in the place where it belongs. It
// replaces one of the same id; custom sections (0) go to the end. It is for
// what no text could say: a million globals, or a section that lies.
func WithSection(wasm []byte, id byte, body []byte) []byte {
	out := slices.Clone(wasm[:8])
	fresh := section(id, body)
	done := false
	place := slices.Index(sectionOrder, id)
	for rest := wasm[8:]; len(rest) > 0; {
		size, n := binary.Uvarint(rest[1:])
		whole := rest[:1+n+int(size)]
		at := slices.Index(sectionOrder, rest[0])
		switch {
		case id != 0 && rest[0] == id:
			whole = fresh
			done = true
		case !done && id != 0 && at > place:
			out = append(out, fresh...)
			done = true
		}
		out = append(out, whole...)
		rest = rest[1+n+int(size):]
	}
	if !done {
		out = append(out, fresh...)
	}
	return out
}

// LEB encodes an unsigned number in the form that it has in sections.
func LEB(v uint32) []byte { return leb(v) }

// Name encodes a name with its length.
func Name(s string) []byte { return text(s) }

// Vector encodes a list of encoded entries with its length.
func Vector(entries [][]byte) []byte { return vector(entries) }

// Repeat encodes a list of n equal entries.
func Repeat(n int, entry []byte) []byte {
	out := leb(uint32(n))
	for range n {
		out = append(out, entry...)
	}
	return out
}
