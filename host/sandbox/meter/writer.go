package meter

import "encoding/binary"

func appendU32(b []byte, v uint32) []byte {
	if v < 0x80 {
		return append(b, byte(v))
	}
	return binary.AppendUvarint(b, uint64(v))
}

func appendLen(b []byte, n int) []byte { return appendU32(b, uint32(n)) }

func appendName(b []byte, s string) []byte { return append(appendLen(b, len(s)), s...) }

func appendSigned(b []byte, v int64) []byte {
	for {
		c := byte(v & 0x7f)
		v >>= 7
		if v == 0 && c&0x40 == 0 || v == -1 && c&0x40 != 0 {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}

// appendSection writes a section of entries; none are written for none.
func appendSection(b []byte, id byte, count int, entries []byte) []byte {
	if count == 0 {
		return b
	}
	n := appendLen(nil, count)
	b = appendLen(append(b, id), len(n)+len(entries))
	return append(append(b, n...), entries...)
}
