package gowasm

// ShrinkChecked is Shrink with a module that traps when the stack pointer is another after
// a call than it is taken for.
func ShrinkChecked(wasm []byte) ([]byte, error) { return shrink(wasm, true) }

// Segments counts a module's segments of data.
func Segments(wasm []byte) (n uint64) {
	m, err := readModule(wasm)
	if err != nil {
		return 0
	}
	for _, s := range m.sections {
		if s.id == secData {
			n += (&cursor{buf: s.body}).unsigned()
		}
	}
	return n
}

// Written is data as it is after it was written as segments and read again.
func Written(data []byte) ([]byte, bool) { return flat(segments(data)) }
