package sandbox

// virtualClock is the time of one instance. It begins at a fixed moment, moves
// on a little with every look, so that a guest that waits for it comes to an
// end, and by a sleep's length with every sleep, which thus returns at once.
// Only the goroutine that runs the guest uses it.
type virtualClock struct{ ns int64 }

const (
	// clockStart is the first moment, in seconds since 1970: 2022-01-01, which
	// is also what wazero's own fixed clock begins with.
	clockStart = 1640995200
	// clockStep is how much a look takes, in nanoseconds.
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
