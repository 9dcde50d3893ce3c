package gowasm

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// Go's linker writes a table by which the runtime finds the function of a code address:
// a bucket for each 4096 addresses. On WebAssembly every function has 65,536, so that
// findfunc, which asks for the beginning of a function alone, reads each sixteenth bucket
// and nothing of the others: in a module of 2,700 functions 800 KB of 860, each bucket a
// data segment, which an instance copies when it is initialized. Here these buckets are
// taken out, and findfunc counts functions instead of addresses.

const (
	bucketShift = 12 // of addresses to a bucket
	bucketBytes = 20 // the index of a function, and sixteen bytes to add to it
	apart       = 1 << (addressShift - bucketShift)
	// maxData is the most data that is looked at.
	maxData = 64 << 20
)

// findsBucket is how findfunc comes to the bucket: ((f<<16 + text - minpc) >> 12) * 20 + findfunctab,
// with the part of that which chooses one of the sixteen bytes; without what brings
// values from one place to another.
var findsBucket = []instruction{
	{op: opI64Const, constant: addressShift}, {op: opI64Shl}, {op: opI64Load}, {op: opI64Add}, {op: opI64Load}, {op: opI64Sub},
	{op: opI64Const, constant: bucketShift}, {op: opI64ShrU},
	{op: opI64Const, constant: 1<<bucketShift - 1}, {op: opI64And}, {op: opI64Const, constant: 8}, {op: opI64ShrU},
	{op: opI64Const, constant: bucketBytes}, {op: opI64Mul}, {op: opI64Load}, {op: opI64Add},
}

// Which of them load what.
const (
	loadsMinPC, dividesBy, loadsTable = 4, 6, 14
)

// compact makes the table of functions as small as it is used. A module without such a
// table, or with code that isn't as expected, stays as it is.
func (m *module) compact() {
	body, at, ok := m.findfunc()
	if !ok {
		return
	}
	for n := range m.sections {
		s := &m.sections[n]
		if s.id == secDataCount {
			return
		}
		if s.id != secData {
			continue
		}
		data, ok := flat(s.body)
		if !ok || !shorten(data, at) {
			return
		}
		s.body = segments(data)
		s.whole = append(appendUnsigned([]byte{secData}, uint64(len(s.body))), s.body...)
		changed := bytes.Clone(m.bodies[body])
		changed[at.shift] = addressShift // its form in one byte
		m.bodies[body] = changed
		return
	}
}

// finder is what the code of findfunc says: where in it the number is by which addresses
// become buckets, and where in the runtime's description of the module the first address and
// the table are.
type finder struct {
	shift        int
	minPC, table uint64
}

// findfunc finds the function, of which there is one.
func (m *module) findfunc() (body int, at finder, ok bool) {
	for n, b := range m.bodies {
		f, err := readFunction(b)
		if err != nil {
			return 0, at, false
		}
		code := f.computing()
		for from := 0; from+len(findsBucket) <= len(code); from++ {
			c := code[from:]
			if !slices.EqualFunc(c[:len(findsBucket)], findsBucket, sameOperation) {
				continue
			}
			if ok {
				return 0, at, false
			}
			body, at, ok = n, finder{c[dividesBy].from + 1, c[loadsMinPC].offset, c[loadsTable].offset}, true
		}
	}
	return body, at, ok
}

func sameOperation(a, b instruction) bool { return a.op == b.op && a.constant == b.constant }

// computing leaves out what only brings values from one place to another: a local, a slot
// of the stack, or an address in another type.
func (f *function) computing() (code []instruction) {
	for n, i := range f.code {
		slot := i.op == opI64Load && n > 0 && f.code[n-1].op == opLocalGet && f.code[n-1].index == stackPointer
		if !slot && i.op != opLocalGet && i.op != opLocalSet && i.op != opLocalTee && i.op != opI32WrapI64 {
			code = append(code, i)
		}
	}
	return code
}

// shorten moves the buckets that are used together, and makes zeros of what is behind
// them.
func shorten(data []byte, at finder) bool {
	word := func(at uint64) uint64 {
		if at > uint64(len(data)) || uint64(len(data))-at < 8 {
			return 0
		}
		return binary.LittleEndian.Uint64(data[at:])
	}
	table, buckets := uint64(0), uint64(0)
	for p := at.minPC &^ 7; p+8 <= uint64(len(data)); p += 8 {
		if p < at.minPC || word(p) != firstFunction<<addressShift {
			continue
		}
		end, found := word(p+8), word(p-at.minPC+at.table) // maxpc is behind minpc
		if end <= word(p) || end-word(p) > maxData<<bucketShift || found == 0 {
			continue
		}
		n := (end - word(p) + 1<<bucketShift - 1) >> bucketShift
		if found > uint64(len(data)) || n*bucketBytes > uint64(len(data))-found {
			continue
		}
		if table != 0 {
			return false
		}
		table, buckets = found, n
	}
	if table == 0 {
		return false
	}
	whole := data[table:][:buckets*bucketBytes]
	kept := 0
	for from := 0; from < len(whole); from += apart * bucketBytes {
		if whole[from+4] != 0 { // to add to the index at the beginning of the bucket
			return false
		}
		kept += copy(whole[kept:], whole[from:from+bucketBytes])
	}
	clear(whole[kept:])
	return true
}

// flat is what a memory begins with, if all segments are written to it in order when it is
// made.
func flat(section []byte) (data []byte, ok bool) {
	c := &cursor{buf: section}
	for n := c.unsigned(); n > 0 && c.err == nil; n-- {
		active, constant := c.unsigned(), c.byte()
		at := uint64(uint32(c.signed())) //nolint:gosec // as the instruction means it
		end := c.byte()
		size := c.unsigned()
		from := c.pos
		c.skip(size)
		if c.err != nil || active != 0 || constant != opI32Const || end != opEnd || at+size > maxData {
			return nil, false
		}
		if at+size > uint64(len(data)) {
			data = append(data, make([]byte, at+size-uint64(len(data)))...)
		}
		copy(data[at:], section[from:c.pos])
	}
	return data, c.err == nil && c.pos == len(section)
}

// leastGap is how many zeros make another segment of what is behind them.
const leastGap = 16

// segments writes data as a section, without the zeros.
func segments(data []byte) []byte {
	n := uint64(0)
	var out []byte
	for at := 0; at < len(data); {
		if data[at] == 0 {
			at++
			continue
		}
		end, zeros := at, 0 // behind the last that is none
		for k := at; k < len(data) && zeros < leastGap; k++ {
			if zeros++; data[k] != 0 {
				end, zeros = k+1, 0
			}
		}
		out = append(appendSigned(append(out, 0, opI32Const), int64(int32(at))), opEnd)
		out = append(appendUnsigned(out, uint64(end-at)), data[at:end]...) //nolint:gosec // not negative
		n, at = n+1, end
	}
	return append(appendUnsigned(nil, n), out...)
}
