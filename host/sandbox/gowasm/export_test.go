package gowasm

// ShrinkChecked is Shrink with a module that traps when the stack pointer is another after
// a call than it is taken for.
func ShrinkChecked(wasm []byte) ([]byte, error) { return shrink(wasm, true) }
