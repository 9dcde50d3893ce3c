//go:build wasip1

package guest

//go:wasmimport extism:host/user memo_begin
func hostMemoBegin(key uint64) uint64

//go:wasmimport extism:host/user memo_end
func hostMemoEnd(value uint64)

// What crosses the border for a unit is of a length that is a multiple of
// blockStep: a key ends in a 1 and as many zeros as it takes, a value begins
// with its length. So it goes by whole words, and there are so few lengths that
// a block for each can be kept and used again.
const blockStep = 64

// blocks are blocks of the kernel by their length in steps; 0 for none. What is
// longer gets a block of its own.
var blocks [maxUnitKey/blockStep + 2]uint64

// forgetBlocks makes each call begin with blocks of its own: those of a call
// before are gone.
func forgetBlocks() { clear(blocks[:]) }

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

// memoBegin begins a unit and returns its value if the host remembers it.
func memoBegin(key string) (value []byte, ok bool) {
	var remembered uint64
	withBlock(len(key)+1, func(block uint64, size int) {
		i := 0
		for ; i+8 <= len(key); i += 8 {
			kernelStoreU64(block+uint64(i), wordOf(key[i:i+8]))
		}
		kernelStoreU64(block+uint64(i), wordOf(key[i:])|1<<(8*(len(key)-i)))
		storeZeros(block, i+8, size)
		remembered = hostMemoBegin(block)
	})
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
		i := 0
		for ; i+8 <= len(value); i += 8 {
			kernelStoreU64(block+8+uint64(i), getUint64(value[i:]))
		}
		if i < len(value) {
			kernelStoreU64(block+8+uint64(i), wordOf(string(value[i:])))
			i += 8
		}
		storeZeros(block, 8+i, size)
		hostMemoEnd(block)
	})
}

// storeZeros writes what of a block would be another's.
func storeZeros(block uint64, from, to int) {
	for ; from < to; from += 8 {
		kernelStoreU64(block+uint64(from), 0)
	}
}

// loadWords reads n bytes from where as many whole words lie.
func loadWords(at uint64, n int) []byte {
	data := make([]byte, (n+7)&^7)
	for i := 0; i < len(data); i += 8 {
		putUint64(data[i:], kernelLoadU64(at+uint64(i)))
	}
	return data[:n]
}

// wordOf is at most eight bytes as a number, the first one the lowest.
func wordOf(s string) (word uint64) {
	for i := range len(s) {
		word |= uint64(s[i]) << (8 * i)
	}
	return word
}
