package redact

import "math/bits"

// set is a set of windows, each MinPart bytes in one number. Most of what is asked
// for isn't in it, which a small table of bits tells.
type set struct {
	bits  []uint64
	shift int // of a hash, for its bit
	// table has the windows, each at its hash or at the next free place; 0 is none.
	table []uint64
	count int
	zero  bool // the window of zeros is in it
}

// multiplier spreads windows over the table, by their upper bits.
const multiplier = 0x9E3779B97F4A7C15

func newSet(windows []uint64) *set {
	// Sixteen bits for a window let one of sixteen pass at most.
	size := bits.Len(uint(max(len(windows), 64)))
	s := &set{bits: make([]uint64, 1<<(size+4)/64), shift: 64 - size - 4, table: make([]uint64, 1<<(size+1))}
	for _, w := range windows {
		s.add(w)
	}
	return s
}

func (s *set) len() int { return s.count }

func (s *set) add(w uint64) {
	if s.has(w) {
		return
	}
	s.count++
	bit := w * multiplier >> s.shift
	s.bits[bit/64] |= 1 << (bit % 64)
	if w == 0 {
		s.zero = true
		return
	}
	i := s.place(w)
	for s.table[i] != 0 {
		i = (i + 1) & (len(s.table) - 1)
	}
	s.table[i] = w
}

// place is where a window is looked for first.
func (s *set) place(w uint64) int {
	return int((w * multiplier) >> 33 & uint64(len(s.table)-1)) //nolint:gosec // a table's length is positive
}

func (s *set) has(w uint64) bool {
	bit := w * multiplier >> s.shift
	if s.bits[bit/64]&(1<<(bit%64)) == 0 {
		return false
	}
	if w == 0 {
		return s.zero
	}
	for i := s.place(w); s.table[i] != 0; i = (i + 1) & (len(s.table) - 1) {
		if s.table[i] == w {
			return true
		}
	}
	return false
}
