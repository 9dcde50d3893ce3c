package memory

import "sync/atomic"

// Budget bounds the linear memory of many allocators together. Safe for
// concurrent use; nil bounds nothing.
type Budget struct {
	max  int64
	used atomic.Int64
}

// NewBudget returns a budget of so many bytes.
func NewBudget(size int64) *Budget { return &Budget{max: size} }

// Used is what is taken of it now, in bytes.
func (b *Budget) Used() int64 {
	if b == nil {
		return 0
	}
	return b.used.Load()
}

func (b *Budget) take(n int64) bool {
	if b == nil {
		return true
	}
	if b.used.Add(n) > b.max {
		b.used.Add(-n)
		return false
	}
	return true
}

func (b *Budget) giveBack(n int64) {
	if b != nil {
		b.used.Add(-n)
	}
}
