package sandbox

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sort"

	"github.com/tetratelabs/wazero/experimental"

	"waymark/host/sandbox/memory"
)

// blocks is the memory of the Extism convention. It holds input, output, error text, log
// lines and the arguments of host functions while they pass between guest and host. Extism
// keeps it in a module of its own, with the list of blocks next to them. Here the host owns
// the list, and a guest reaches only the bytes of live blocks.
//
// Blocks are allocated one after the other and never move. A freed block is reused for a
// length that rounds to the same size. The cost of an operation doesn't depend on the number
// of blocks, except for a binary search, and the search for a reusable block once all memory
// is taken.
//
// blocks holds everything that the convention keeps of an instance, and only memory points
// outside it. Only the goroutine that runs the guest uses it.
type blocks struct {
	memory experimental.LinearMemory
	max    int64  // bytes that blocks and their bookkeeping may take together
	data   []byte // the usable part of memory
	used   uint32 // allocated bytes of data

	list []block            // in order of offset, including freed blocks
	free map[uint32][]int32 // indexes into list, by size
	live int
	last int // index in list of the last block found

	input, errorText      uint64 // handles
	outputAt, outputBytes uint32 // place in data
}

// block is one block. Its handle is its offset.
type block struct {
	offset uint32 // firstBlock or more
	length uint32 // as requested
	size   uint32 // as allocated
	live   bool
}

const (
	// firstBlock is the offset of the first block, so that 0 means none.
	firstBlock = 64
	// blockCost is what one block counts against the limit besides its bytes: the size of
	// block and of its index in free, twice, because both lists grow by doubling.
	blockCost = 48
	// largeBlock is the size from which blocks take whole pages.
	largeBlock = 1 << 20
)

// newBlocks takes its memory from an allocator, for blocks that may take limit bytes
// together, rounded to pages, below 4 GiB. Like any memory of an allocator, it panics with a
// *memory.Error if there is none.
func newBlocks(a *memory.Allocator, limit int64) *blocks {
	limit = min(max(limit/wasmPage, 1), maxPages-1) * wasmPage
	return &blocks{memory: a.Reserve(uint64(limit)), max: limit, free: map[uint32][]int32{}}
}

// reset frees all blocks, forgets input, output and error, and clears the used memory.
func (b *blocks) reset() {
	clear(b.data[:b.used])
	b.list, b.used, b.live, b.last = b.list[:0], 0, 0, 0
	clear(b.free)
	b.input, b.errorText, b.outputAt, b.outputBytes = 0, 0, 0, 0
}

// rearm is reset after the memory was restored: the first usable bytes of it, which are zeros.
func (b *blocks) rearm(usable uint64) {
	b.data, b.used = b.data[:usable:usable], 0
	b.list = nil // it can be as long as the longest run's
	b.reset()
}

// blockSize rounds a length up, by an eighth at most, so that freed blocks fit later
// requests.
func blockSize(length uint32) uint64 {
	step := uint64(16)
	switch {
	case length >= largeBlock:
		step = wasmPage
	case length > 128:
		for step*16 < uint64(length) {
			step *= 2
		}
	}
	return (uint64(length) + step - 1) / step * step
}

// limitError says which bound alloc has met.
type limitError string

func (e limitError) Error() string { return string(e) }

// alloc returns a new block of zeros, or a limitError. It returns 0 for length 0, because the
// convention has no empty blocks. In Extism's kernel a reused block keeps its old bytes. Guests
// may rely on neither, and zeros can't leak an earlier part of the run.
func (b *blocks) alloc(length uint64) (uint64, error) {
	switch {
	case length == 0:
		return 0, nil
	case length > uint64(b.max): //nolint:gosec // not negative
		return 0, limitError(fmt.Sprintf("it asks for a block of %d bytes, memory = %d", length, b.max))
	}
	i, err := b.reserve(uint32(length)) //nolint:gosec // at most max, which memory of 32 bits bounds
	if err != nil {
		return 0, err
	}
	k := &b.list[i]
	k.length, k.live = uint32(length), true //nolint:gosec // as above
	b.live++
	b.last = i
	return firstBlock + uint64(k.offset), nil
}

// reserve finds a block of zeros for length bytes, and returns its index in the list.
func (b *blocks) reserve(length uint32) (int, error) {
	size := blockSize(length)
	if i, ok := b.reuse(uint32(min(size, 1<<32-1))); ok {
		return i, nil
	}
	end := uint64(b.used) + size
	if int64(end)+int64(len(b.list)+1)*blockCost <= b.max && b.grow(end) { //nolint:gosec // both far below 2^62
		b.list = append(b.list, block{offset: b.used, size: uint32(size)}) //nolint:gosec // grow has bounded it
		b.used = uint32(end)                                               //nolint:gosec // as above
		return len(b.list) - 1, nil
	}
	// All memory is taken: use the smallest freed block that is large enough.
	best := uint32(0)
	for s, list := range b.free {
		if len(list) > 0 && s >= length && (best == 0 || s < best) {
			best = s
		}
	}
	if i, ok := b.reuse(best); ok {
		return i, nil
	}
	return 0, limitError(fmt.Sprintf("no room for a block of %d bytes beside %d others, memory = %d: free them", length, b.live, b.max))
}

func (b *blocks) reuse(size uint32) (int, bool) {
	list := b.free[size]
	if len(list) == 0 {
		return 0, false
	}
	i := int(list[len(list)-1])
	b.free[size] = list[:len(list)-1]
	k := b.list[i]
	clear(b.data[k.offset:][:k.size])
	return i, true
}

// grow makes size bytes usable, and at least twice as many as before, so that it is rarely
// called.
func (b *blocks) grow(size uint64) bool {
	if size <= uint64(len(b.data)) {
		return true
	}
	most := uint64(b.max) //nolint:gosec // not negative
	if size > most {
		return false
	}
	size = min(max((size+wasmPage-1)/wasmPage*wasmPage, 2*uint64(len(b.data))), most)
	data := b.memory.Reallocate(size)
	if data == nil {
		return false
	}
	b.data = data
	return true
}

// release frees a block. It ignores other handles, as extism does.
func (b *blocks) release(handle uint64) {
	i, ok := b.find(handle)
	if !ok || handle != firstBlock+uint64(b.list[i].offset) {
		return
	}
	k := &b.list[i]
	k.live = false
	b.live--
	b.free[k.size] = append(b.free[k.size], int32(i)) //nolint:gosec // the list is bounded by memory
}

// find returns the index of the live block that contains an offset.
func (b *blocks) find(offset uint64) (int, bool) {
	at := offset - firstBlock // beyond all blocks if it wraps
	if b.last < len(b.list) {
		if k := &b.list[b.last]; at-uint64(k.offset) < uint64(k.length) && k.live {
			return b.last, true
		}
	}
	i := sort.Search(len(b.list), func(i int) bool { return uint64(b.list[i].offset) > at }) - 1
	if i < 0 || !b.list[i].live || at-uint64(b.list[i].offset) >= uint64(b.list[i].length) {
		return 0, false
	}
	b.last = i
	return i, true
}

// at returns n bytes from an offset on, which must lie in one live block.
func (b *blocks) at(offset, n uint64) ([]byte, bool) {
	i, ok := b.find(offset)
	if !ok {
		return nil, false
	}
	k := &b.list[i]
	from := offset - firstBlock
	if n > uint64(k.offset)+uint64(k.length)-from {
		return nil, false
	}
	return b.data[from:][:n:n], true
}

// bytes returns a block's content, valid until the next alloc; nil if there is no such block.
func (b *blocks) bytes(handle uint64) []byte {
	n := b.length(handle)
	if n == 0 {
		return nil
	}
	data, _ := b.at(handle, n)
	return data
}

// length returns a block's length; 0 if there is no such block.
func (b *blocks) length(handle uint64) uint64 {
	i, ok := b.find(handle)
	if !ok || handle != firstBlock+uint64(b.list[i].offset) {
		return 0
	}
	return uint64(b.list[i].length)
}

// put copies data into a new block; it returns 0 if data is empty.
func (b *blocks) put(data []byte) (uint64, error) {
	handle, err := b.alloc(uint64(len(data)))
	if err == nil && handle != 0 {
		copy(b.bytes(handle), data)
	}
	return handle, err
}

// setOutput makes a part of a block the output. An invalid block leaves the output unchanged;
// a guest uses that to say that there is none.
func (b *blocks) setOutput(handle, n uint64) bool {
	if handle == 0 {
		return true
	}
	data, ok := b.at(handle, n)
	if ok {
		b.outputAt, b.outputBytes = uint32(handle-firstBlock), uint32(len(data)) //nolint:gosec // lies in data
	}
	return ok
}

// output returns a copy of the output in its current state.
func (b *blocks) output() []byte {
	return slices.Clone(b.data[b.outputAt:][:b.outputBytes])
}

func (b *blocks) load64(offset uint64) (uint64, bool) {
	data, ok := b.at(offset, 8)
	if !ok {
		return 0, false
	}
	return binary.LittleEndian.Uint64(data), true
}

func (b *blocks) store64(offset, v uint64) bool {
	data, ok := b.at(offset, 8)
	if ok {
		binary.LittleEndian.PutUint64(data, v)
	}
	return ok
}
