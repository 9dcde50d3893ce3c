package meter

import (
	"cmp"
	"slices"
)

// segment is an active data segment with a constant offset.
type segment struct {
	offset uint32
	order  int // index in the original
	init   []byte
}

func (s segment) end() int64 { return int64(s.offset) + int64(len(s.init)) }

func (m *module) readData(r *reader) {
	n := r.count("data segments", m.limits.MaxDataSegments)
	m.stats.DataSegmentsBefore = n
	m.data = make([]segment, 0, n)
	for i := range n {
		m.readSegment(r, i)
		if r.err != nil {
			return
		}
	}
}

func (m *module) readSegment(r *reader, order int) {
	start := r.pos
	flags := r.u32()
	if flags > 2 && r.err == nil {
		r.fail(start, hintFeatures, "unknown kind of data segment %d", flags)
	}
	if flags == 2 {
		r.index("memory", m.memories)
	}
	var value int32
	plain := false
	switch {
	case flags == 1:
		m.dataBody = append(m.dataBody, r.buf[start:r.pos]...)
	case m.memories == 0:
		r.damaged(start, "a data segment without a memory")
	default:
		m.dataBody = append(m.dataBody, r.buf[start:r.pos]...)
		m.dataBody, value, plain = m.constExpr(r, m.dataBody)
	}
	rest := r.pos
	init := r.bytes()
	m.dataBody = append(m.dataBody, r.buf[rest:r.pos]...)
	if r.err != nil {
		return
	}
	m.dataOther = m.dataOther || !plain
	m.data = append(m.data, segment{offset: uint32(value), order: order, init: init})
}

// mergeGap is how many zeros may be written out to join two segments. Go's
// linker leaves out runs of zeros from a few bytes on: 36,763 segments of a
// 3.3 MB guest become 34,722 with a gap of 16, 130 with 32, 10 with 64, 3 with
// 256; the zeros make it 10 % larger.
const mergeGap = 256

// mergeable reports whether segments may be put together: nothing refers to one
// by its number, memory is zero before they are copied, and none of them ends
// instantiation by lying outside of it.
func (m *module) mergeable() bool {
	if m.dataOther || m.usesData || m.importedMemories > 0 {
		return false
	}
	size := int64(m.memoryMin) * 65536
	return !slices.ContainsFunc(m.data, func(s segment) bool { return s.end() > size })
}

// mergeData returns the new data section's entries and their number.
func (m *module) mergeData() ([]byte, int) {
	if !m.mergeable() {
		return m.dataBody, len(m.data)
	}
	list := slices.DeleteFunc(m.data, func(s segment) bool { return len(s.init) == 0 })
	slices.SortStableFunc(list, func(a, b segment) int { return cmp.Compare(a.offset, b.offset) })
	var out []byte
	count := 0
	for len(list) > 0 {
		n, end := 1, list[0].end()
		for n < len(list) && int64(list[n].offset) <= end+mergeGap {
			end = max(end, list[n].end())
			n++
		}
		out = appendRun(out, list[:n], end)
		list = list[n:]
		count++
	}
	return out, count
}

// appendRun writes one segment in place of several. They are copied in their
// original order: where they overlap, the last one wins.
func appendRun(out []byte, run []segment, end int64) []byte {
	first := run[0].offset
	out = appendSigned(append(out, 0, opI32Const), int64(int32(first)))
	size := int(end - int64(first))
	out = appendLen(append(out, opEnd), size)
	at := len(out)
	out = slices.Grow(out, size)[:at+size]
	clear(out[at:])
	if !slices.IsSortedFunc(run, func(a, b segment) int { return cmp.Compare(a.order, b.order) }) {
		slices.SortFunc(run, func(a, b segment) int { return cmp.Compare(a.order, b.order) })
	}
	for _, s := range run {
		copy(out[at+int(s.offset-first):], s.init)
	}
	return out
}
