package sandbox

import "math/rand/v2"

// fixedRandom is the random source of one instance: the same bytes for every
// one, since a resolver is a pure function of the files it read.
type fixedRandom struct {
	source *rand.ChaCha8
	charge func(fuel int64)
}

func newFixedRandom(charge func(fuel int64)) *fixedRandom {
	return &fixedRandom{source: rand.NewChaCha8([32]byte([]byte("waymark: nothing here is random!"))), charge: charge}
}

// randomChunk is what is made between two looks at the deadline: a guest may
// ask for its whole memory at once.
const randomChunk = 64 << 10

func (r *fixedRandom) Read(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		n := min(len(rest), randomChunk)
		r.charge(int64(n) * fuelPerByte)
		_, _ = r.source.Read(rest[:n]) // never fails
		rest = rest[n:]
	}
	return len(p), nil
}
