//go:build wasip1

package guest

import "unsafe"

// The Extism kernel. Its memory is not the guest's: bytes are transferred eight at a time, by
// offset. The last eight of a longer text overlap with those before, because a call for each
// single byte costs as much. Handles and lengths are i64.

//go:wasmimport extism:host/env input_length
func kernelInputLength() uint64

//go:wasmimport extism:host/env input_load_u8
func kernelInputLoadU8(offset uint64) uint32

//go:wasmimport extism:host/env input_load_u64
func kernelInputLoadU64(offset uint64) uint64

//go:wasmimport extism:host/env alloc
func kernelAlloc(length uint64) uint64

//go:wasmimport extism:host/env free
func kernelFree(block uint64)

//go:wasmimport extism:host/env load_u8
func kernelLoadU8(offset uint64) uint32

//go:wasmimport extism:host/env load_u64
func kernelLoadU64(offset uint64) uint64

//go:wasmimport extism:host/env store_u8
func kernelStoreU8(offset uint64, value uint32)

//go:wasmimport extism:host/env store_u64
func kernelStoreU64(offset, value uint64)

//go:wasmimport extism:host/env output_set
func kernelOutputSet(offset, length uint64)

//go:wasmimport extism:host/env error_set
func kernelErrorSet(offset uint64)

//go:wasmimport extism:host/env log_trace
func kernelLogTrace(offset uint64)

//go:wasmimport extism:host/env log_debug
func kernelLogDebug(offset uint64)

//go:wasmimport extism:host/env log_info
func kernelLogInfo(offset uint64)

//go:wasmimport extism:host/env log_warn
func kernelLogWarn(offset uint64)

//go:wasmimport extism:host/env log_error
func kernelLogError(offset uint64)

func readInput() []byte {
	buf := make([]byte, kernelInputLength())
	i := 0
	for ; i+8 <= len(buf); i += 8 {
		putUint64(buf[i:], kernelInputLoadU64(uint64(i)))
	}
	if last := len(buf) - 8; last >= 0 && i < len(buf) {
		putUint64(buf[last:], kernelInputLoadU64(uint64(last)))
		return buf
	}
	for ; i < len(buf); i++ {
		buf[i] = byte(kernelInputLoadU8(uint64(i)))
	}
	return buf
}

// store copies data into a new block of kernel memory. The kernel has no empty blocks; 0
// stands for one.
func store(data []byte) uint64 {
	if len(data) == 0 {
		return 0
	}
	block := kernelAlloc(uint64(len(data)))
	storeAt(block, textOf(data))
	return block
}

func storeAt(at uint64, data string) {
	i := 0
	for ; i+8 <= len(data); i += 8 {
		kernelStoreU64(at+uint64(i), wordOf(data[i:i+8]))
	}
	if last := len(data) - 8; last >= 0 && i < len(data) {
		kernelStoreU64(at+uint64(last), wordOf(data[last:]))
		return
	}
	for ; i < len(data); i++ {
		kernelStoreU8(at+uint64(i), uint32(data[i]))
	}
}

// load reads n bytes of kernel memory.
func load(at uint64, n int) []byte {
	data := make([]byte, n)
	i := 0
	for ; i+8 <= n; i += 8 {
		putUint64(data[i:], kernelLoadU64(at+uint64(i)))
	}
	if last := n - 8; last >= 0 && i < n {
		putUint64(data[last:], kernelLoadU64(at+uint64(last)))
		return data
	}
	for ; i < n; i++ {
		data[i] = byte(kernelLoadU8(at + uint64(i)))
	}
	return data
}

// loadWords is load for data that occupies whole words.
func loadWords(at uint64, n int) []byte { return load(at, (n+7)&^7)[:n] }

// setOutput assembles an answer as the output.
func setOutput(a *answer) {
	length := a.len()
	if length == 0 {
		kernelOutputSet(0, 0)
		return
	}
	block := kernelAlloc(uint64(length))
	to, from := block, 0
	for _, b := range a.blocks {
		storeAt(to, textOf(a.text[from:b.at]))
		to += uint64(b.at - from)
		from = b.at
		hostBlockCopy(to, b.block, uint64(b.size))
		to += uint64(b.size)
	}
	storeAt(to, textOf(a.text[from:]))
	kernelOutputSet(block, uint64(length))
}

func setError(message string) {
	if message == "" {
		message = "an error without text"
	}
	kernelErrorSet(store([]byte(message)))
}

// log stores a line; the host frees the block.
func log(level Level, message string) {
	if message == "" {
		return
	}
	block := store([]byte(message))
	switch {
	case level <= LevelTrace:
		kernelLogTrace(block)
	case level == LevelDebug:
		kernelLogDebug(block)
	case level == LevelInfo:
		kernelLogInfo(block)
	case level == LevelWarn:
		kernelLogWarn(block)
	default:
		kernelLogError(block)
	}
}

// wordOf and putUint64 are encoding/binary's functions in little-endian order, which is the
// machine's. That package links reflect, and Go makes eight loads of a word. Missing bytes of
// a shorter text are 0.
func wordOf(s string) (word uint64) {
	if len(s) == 8 {
		return *(*uint64)(unsafe.Pointer(unsafe.StringData(s)))
	}
	for i := range len(s) {
		word |= uint64(s[i]) << (8 * i)
	}
	return word
}

func putUint64(b []byte, v uint64) {
	*(*uint64)(unsafe.Pointer(&b[:8][0])) = v
}
