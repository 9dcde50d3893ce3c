//go:build wasip1

package guest

//go:wasmimport extism:host/user memo_begin
func hostMemoBegin(key uint64) uint64

//go:wasmimport extism:host/user memo_end
func hostMemoEnd(value uint64)

//go:wasmimport extism:host/user block_copy
func hostBlockCopy(to, from, length uint64)

// Data of a unit is transferred in lengths that are multiples of blockStep: a key ends with a
// 1 and zeros as padding, a value begins with its length. So it is transferred by whole
// words, and there are so few lengths that a block for each can be kept and reused.
const blockStep = 32

// blocks are kernel blocks by their length in steps; 0 for none. Longer data gets a block of
// its own.
var blocks [maxUnitKey/blockStep + 2]uint64

// keptParts counts the parts whose rows lie in blocks. The kernel searches its blocks
// linearly, so there must not be too many.
var keptParts int

const maxKeptParts = 5000

// forgetBlocks makes each call start with new blocks: those of an earlier call are gone.
func forgetBlocks() {
	clear(blocks[:])
	keptParts = 0
}

// withBlock calls f with a block of n bytes or a few more, and their number.
func withBlock(n int, f func(block uint64, size int)) {
	steps := (n + blockStep - 1) / blockStep
	size := steps * blockStep
	if steps >= len(blocks) {
		block := kernelAlloc(uint64(size))
		f(block, size)
		kernelFree(block)
		return
	}
	if blocks[steps] == 0 {
		blocks[steps] = kernelAlloc(uint64(size))
	}
	f(blocks[steps], size)
}

// begin begins a unit and returns the block of its value, if the host remembers it.
func begin(key string) (remembered uint64) {
	withBlock(len(key)+1, func(block uint64, size int) {
		whole := len(key) &^ 7
		storeAt(block, key[:whole])
		kernelStoreU64(block+uint64(whole), wordOf(key[whole:])|1<<(8*(len(key)-whole)))
		storeZeros(block, whole+8, size)
		remembered = hostMemoBegin(block)
	})
	return remembered
}

func memoBegin(key string) (value []byte, ok bool) {
	remembered := begin(key)
	if remembered == 0 {
		return nil, false
	}
	value = loadWords(remembered+8, int(kernelLoadU64(remembered)))
	kernelFree(remembered)
	return value, true
}

// memoEnd ends the unit that memoBegin began.
func memoEnd(value []byte) {
	if len(value) == 0 {
		hostMemoEnd(0)
		return
	}
	withBlock(8+len(value), func(block uint64, size int) {
		kernelStoreU64(block, uint64(len(value)))
		whole := len(value) &^ 7
		storeAt(block+8, textOf(value[:whole]))
		storeZeros(block, 8+whole, size)
		if whole < len(value) {
			kernelStoreU64(block+8+uint64(whole), wordOf(textOf(value[whole:])))
		}
		hostMemoEnd(block)
	})
}

// storeZeros overwrites old data in a reused block.
func storeZeros(block uint64, from, to int) {
	for ; from < to; from += 8 {
		kernelStoreU64(block+uint64(from), 0)
	}
}

// The form of a stored part: the lengths of what precedes the rows and of the rows, as two
// halves of a word; the former in whole words; a comma, and the rows. So the kernel's blocks
// can become an answer without passing through the guest.

func partBegin(key string) (p Part, ok bool) {
	remembered := begin(key)
	if remembered == 0 {
		return p, false
	}
	lengths := kernelLoadU64(remembered)
	head := int(uint32(lengths))
	p.Rows = Rows{block: remembered + 8 + uint64(head+7)&^7 + 1, size: int(lengths >> 32)}
	if !p.decode(string(loadWords(remembered+8, head))) {
		panic("guest: what the host remembers is not what it was given")
	}
	if keptParts++; keptParts > maxKeptParts {
		p.Rows.text = p.Rows.String()
		p.Rows.block = 0
		kernelFree(remembered)
	}
	return p, true
}

func partEnd(p *Part) {
	if p.Forget {
		hostMemoEnd(0)
		return
	}
	head := p.encode()
	rows := 8 + (len(head)+7)&^7 + 1
	block := kernelAlloc(uint64(rows+len(p.Rows.text)+7) &^ 7)
	kernelStoreU64(block, uint64(len(head))|uint64(len(p.Rows.text))<<32)
	kernelStoreU64(block+uint64(rows)-8, 0) // what head leaves of its last word
	storeAt(block+8, textOf(head))
	kernelStoreU8(block+uint64(rows)-1, ',')
	storeAt(block+uint64(rows), p.Rows.text)
	hostMemoEnd(block)
	if keptParts++; keptParts > maxKeptParts {
		kernelFree(block)
		return
	}
	p.Rows.block = block + uint64(rows)
}
