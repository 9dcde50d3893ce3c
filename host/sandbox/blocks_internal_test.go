package sandbox

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"waymark/host/sandbox/memory"
	"waymark/test/testenv"
)

// TestBlocksRandom does random things to blocks, and to a model that keeps each
// one by itself: live blocks hold what was stored, nothing else can be reached,
// and the limit holds.
func TestBlocksRandom(t *testing.T) {
	seed := testenv.Seed(t)
	for round := range testenv.Rounds(20, 100, 10_000) {
		s := testenv.RandOf(seed, uint64(round))
		a := new(memory.Allocator)
		const limit = 4 << 20
		b := newBlocks(a, limit)
		model := map[uint64][]byte{}
		var handles []uint64
		var word [8]byte
		for range 400 {
			switch s.IntN(8) {
			case 0, 1, 2:
				n := uint64(1) << s.IntN(21)
				n += s.Uint64N(n)
				handle, err := b.alloc(n)
				if err != nil {
					continue // full; what is live must be as it was
				}
				data, ok := b.at(handle, n)
				if !ok || !bytes.Equal(data, make([]byte, n)) {
					t.Fatalf("a new block of %d bytes isn't zero", n)
				}
				for i := 0; i < len(data); i += 8 {
					binary.LittleEndian.PutUint64(word[:], s.Uint64())
					copy(data[i:], word[:])
				}
				if model[handle] != nil {
					t.Fatalf("handle %d was given twice", handle)
				}
				model[handle] = slices.Clone(data)
				handles = append(handles, handle)
			case 3:
				if len(handles) > 0 {
					i := s.IntN(len(handles))
					b.release(handles[i])
					delete(model, handles[i])
					handles = slices.Delete(handles, i, i+1)
				}
			case 4: // what is no handle
				offset := s.Uint64N(2 * limit)
				if model[offset] == nil {
					live := b.live
					b.release(offset)
					if b.length(offset) != 0 || b.live != live {
						t.Fatalf("%d is taken for a block", offset)
					}
				}
			default:
				offset, n := s.Uint64N(limit+200), 1+s.Uint64N(16)
				if len(handles) > 0 && s.IntN(2) == 0 {
					h := handles[s.IntN(len(handles))]
					offset = h + s.Uint64N(uint64(len(model[h]))+8)
				}
				data, ok := b.at(offset, n)
				want := within(model, offset, n)
				if ok != (want != nil) || !bytes.Equal(data, want) {
					t.Fatalf("%d bytes at %d: %v, want %v", n, offset, data, want)
				}
			}
			if a.Current() > limit {
				t.Fatalf("%d bytes are in use", a.Current())
			}
		}
		b.reset()
		if slices.ContainsFunc(b.data, func(c byte) bool { return c != 0 }) {
			t.Error("something is left after a reset")
		}
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// within returns the part of a block of the model, or nil.
func within(model map[uint64][]byte, offset, n uint64) []byte {
	for h, data := range model {
		if offset >= h && offset+n <= h+uint64(len(data)) {
			return data[offset-h:][:n]
		}
	}
	return nil
}

// TestBlocksExhausted: whatever is asked for, and in whatever order, what the
// host keeps of the blocks counts against the limit too.
func TestBlocksExhausted(t *testing.T) {
	const limit = 4 << 20
	for _, n := range []uint64{1, 17, 4096, 1 << 20, limit, limit + 1, 1 << 32, 1<<64 - 1} {
		a := new(memory.Allocator)
		b := newBlocks(a, limit)
		count := 0
		for ; ; count++ {
			if _, err := b.alloc(n); err != nil {
				break
			}
		}
		if got := uint64(count) * (n + blockCost); got > limit {
			t.Errorf("%d blocks of %d bytes fit", count, n)
		}
		if n <= limit/8 && uint64(count)*2*(n+blockCost) < limit {
			t.Errorf("only %d blocks of %d bytes fit", count, n)
		}
		_ = a.Close()
	}
}

// BenchmarkConvention: what a load, a store, and a block cost in the host,
// without the way into it.
func BenchmarkConvention(b *testing.B) {
	a := new(memory.Allocator)
	defer func() { _ = a.Close() }()
	blocks := newBlocks(a, 64<<20)
	var handles []uint64
	for range 1000 {
		h, err := blocks.alloc(1000)
		if err != nil {
			b.Fatal(err)
		}
		handles = append(handles, h)
	}
	b.Run("load", func(b *testing.B) {
		for b.Loop() {
			blocks.load64(handles[500] + 8)
		}
	})
	b.Run("load-elsewhere", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			blocks.load64(handles[i*7%1000] + 8)
		}
	})
	b.Run("alloc-free", func(b *testing.B) {
		for b.Loop() {
			h, err := blocks.alloc(100)
			if err != nil {
				b.Fatal(err)
			}
			blocks.release(h)
		}
	})
}
