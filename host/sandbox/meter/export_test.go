package meter

// Frames returns what each function that a module defines is taken to need of
// the stack, in bytes.
func Frames(wasm []byte, opts Options) ([]int, error) {
	m, err := decode(wasm, opts)
	if err != nil {
		return nil, err
	}
	return m.frames, nil
}
