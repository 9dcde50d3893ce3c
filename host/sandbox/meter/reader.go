package meter

import (
	"fmt"
	"unicode/utf8"
)

// reader decodes the binary format. Its first error sticks: it then stands at
// its end and reads zeros, so that callers may check err once per entry.
// Positions are those of the whole module.
type reader struct {
	buf     []byte
	pos     int
	end     int // exclusive
	section string
	err     *Error
}

func (r *reader) more() bool { return r.pos < r.end }

func (r *reader) fail(offset int, hint, format string, args ...any) {
	if r.err == nil {
		r.err = &Error{Offset: offset, Section: r.section, Reason: fmt.Sprintf(format, args...), Hint: hint}
	}
	r.pos = r.end
}

const (
	hintDamaged  = "rebuild it; the file may be damaged or cut off"
	hintFeatures = "build it for core WebAssembly 2.0, without further proposals"
	hintSmaller  = "split it up or leave parts out"
)

func (r *reader) damaged(offset int, format string, args ...any) {
	r.fail(offset, hintDamaged, format, args...)
}

func (r *reader) u8() byte {
	if r.pos >= r.end {
		r.damaged(r.pos, "it ends too early")
		return 0
	}
	b := r.buf[r.pos]
	r.pos++
	return b
}

// u32 reads an unsigned LEB128 of at most 32 bits.
func (r *reader) u32() uint32 {
	if r.pos < r.end && r.buf[r.pos] < 0x80 {
		r.pos++
		return uint32(r.buf[r.pos-1])
	}
	start := r.pos
	var v uint64
	for shift := 0; shift < 35; shift += 7 {
		b := r.u8()
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			if v>>32 != 0 {
				break
			}
			return uint32(v)
		}
	}
	r.damaged(start, "a number is too large")
	return 0
}

// signed reads a signed LEB128 of at most the given number of bytes. Whether
// the unused bits of the last byte are right is left to the engine, which gets
// the same bytes.
func (r *reader) signed(maxBytes int) int64 {
	start := r.pos
	var v int64
	for i := range maxBytes {
		b := r.u8()
		v |= int64(b&0x7f) << (7 * i)
		if b < 0x80 {
			if shift := 7 * (i + 1); shift < 64 && b&0x40 != 0 {
				v |= -1 << shift
			}
			return v
		}
	}
	r.damaged(start, "a number is too large")
	return 0
}

func (r *reader) skip(n int) {
	if n > r.end-r.pos {
		r.damaged(r.pos, "it ends too early")
		return
	}
	r.pos += n
}

// bytes reads a length and that many bytes. The result is part of the module.
func (r *reader) bytes() []byte {
	n := r.u32()
	if uint64(n) > uint64(r.end-r.pos) {
		r.damaged(r.pos, "it ends too early")
		return nil
	}
	b := r.buf[r.pos : r.pos+int(n)]
	r.pos += int(n)
	return b
}

func (r *reader) name() string {
	start := r.pos
	b := r.bytes()
	if !utf8.Valid(b) {
		r.damaged(start, "a name is not UTF-8")
		return ""
	}
	return string(b)
}

// count reads the length of a vector whose entries take at least one byte
// each, and checks it against a limit.
func (r *reader) count(what string, limit int) int {
	start := r.pos
	n := r.u32()
	if int64(n) > int64(limit) {
		r.fail(start, hintSmaller, "%d %s, %d are allowed", n, what, limit)
		return 0
	}
	if int64(n) > int64(r.end-r.pos) {
		r.damaged(start, "%d %s don't fit into the rest of the section", n, what)
		return 0
	}
	return int(n)
}

// index reads an index and checks it against the number of such things.
func (r *reader) index(what string, count int) uint32 {
	start := r.pos
	i := r.u32()
	if int64(i) >= int64(count) && r.err == nil {
		r.damaged(start, "unknown %s %d, there are %d", what, i, count)
		return 0
	}
	return i
}

// valueType reads one of the value types of WebAssembly 2.0.
func (r *reader) valueType() byte {
	b := r.u8()
	if valueTypeName(b) == "" && r.err == nil {
		r.fail(r.pos-1, hintFeatures, "unknown value type 0x%02x", b)
	}
	return b
}

func (r *reader) refType() byte {
	b := r.u8()
	if b != typeFuncref && b != typeExternref && r.err == nil {
		r.fail(r.pos-1, hintFeatures, "unknown reference type 0x%02x", b)
	}
	return b
}

const (
	typeI32       = 0x7f
	typeI64       = 0x7e
	typeV128      = 0x7b
	typeFuncref   = 0x70
	typeExternref = 0x6f
)

func valueTypeName(b byte) string {
	switch b {
	case typeI32:
		return "i32"
	case typeI64:
		return "i64"
	case 0x7d:
		return "f32"
	case 0x7c:
		return "f64"
	case typeV128:
		return "v128"
	case typeFuncref:
		return "funcref"
	case typeExternref:
		return "externref"
	}
	return ""
}
