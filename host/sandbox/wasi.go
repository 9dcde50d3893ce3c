package sandbox

import "math/rand/v2"

// virtualClock is the time of one instance. It starts at a fixed moment and advances a little
// whenever it is read, so that a guest that polls it gets done. A sleep advances it by its
// length and returns at once. Only the goroutine that runs the guest uses it.
type virtualClock struct{ ns int64 }

const (
	// clockStart is the first moment, in seconds since 1970: 2022-01-01, where wazero's own
	// fixed clock also starts.
	clockStart = 1640995200
	// clockStep is how far the clock advances when it is read, in nanoseconds.
	clockStep = 1000
)

func (c *virtualClock) nanotime() int64 {
	c.ns += clockStep
	return c.ns
}

func (c *virtualClock) walltime() (sec int64, nsec int32) {
	now := c.nanotime()
	return clockStart + now/1e9, int32(now % 1e9)
}

func (c *virtualClock) sleep(ns int64) {
	if ns > 0 && c.ns < 1<<62-ns {
		c.ns += ns
	}
}

// fixedRandom is the random source of one instance: the same bytes for every instance,
// because a resolver is a pure function of the files it read.
type fixedRandom struct {
	source rand.ChaCha8
	charge func(fuel int64)
}

func newFixedRandom(charge func(fuel int64)) *fixedRandom {
	return &fixedRandom{source: *rand.NewChaCha8([32]byte([]byte("waymark: nothing here is random!"))), charge: charge}
}

// randomChunk is how many bytes are made between two checks of the deadline: a guest may ask
// for its whole memory at once.
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
