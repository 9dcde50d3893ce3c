package sqlite

import (
	"math"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"waymark/hub/store"
)

// jumpMost is how far the clock may be set in one go.
const jumpMost = time.Hour

// clock watches the machine's clock, which decides how old something is. A server's clock that is
// wrong costs a hub nothing, because the database's decides; here there is one. If it jumps, the
// history is kept whatever its age until the clock is where it was, or somebody has looked at it
// and restarts the hub. A clock that was wrong from the beginning isn't noticed: nobody knows how
// long a hub was away.
type clock struct {
	wall func() time.Time
	// steady is the time since some moment, also while the machine sleeps; nil: nothing is a jump.
	steady func() time.Duration

	mu sync.Mutex // guards the rest
	// at is when the clock was right last, since the same in steady.
	at    time.Time
	since time.Duration
}

// off is how far the clock is behind where it would be without a jump; 0 if there was none.
func (c *clock) off() time.Duration {
	if c.steady == nil {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	wall, steady := c.wall().Round(0), c.steady() // rounded: only what the clock shows is compared
	if off := c.at.Add(steady - c.since).Sub(wall); off.Abs() > jumpMost && !c.at.IsZero() {
		return off
	}
	c.at, c.since = wall, steady
	return 0
}

// keep is what is kept of a retention.
func (c *clock) keep(r store.Retention) store.Retention {
	if c.off() != 0 {
		r.Age = math.MaxInt64
	}
	return r
}

// sinceBoot is a clock.steady.
func sinceBoot() time.Duration {
	id := int32(unix.CLOCK_MONOTONIC) // elsewhere it goes on while the machine sleeps
	if runtime.GOOS == "linux" {
		const boottime = 7
		id = boottime
	}
	var now unix.Timespec
	if err := unix.ClockGettime(id, &now); err != nil {
		return time.Duration(math.MinInt64) // there is always one
	}
	return time.Duration(now.Nano())
}
