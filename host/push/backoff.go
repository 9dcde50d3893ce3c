package push

import (
	"context"
	"math/rand/v2"
	"time"
)

// backoff makes delays that double from shortest to longest. Not safe for
// concurrent use.
type backoff struct {
	shortest, longest time.Duration
	current           time.Duration // the next delay before jitter; 0 is shortest
}

// next returns the next delay. The jitter of a quarter either way keeps a
// fleet of agents from coming back to a restarted hub all at once.
func (b *backoff) next() time.Duration {
	d := max(b.current, b.shortest)
	b.current = min(2*d, b.longest)
	return min(max(jitter(d), b.shortest), b.longest)
}

// slow returns the delay for what time alone won't mend.
func (b *backoff) slow() time.Duration { return max(min(jitter(b.longest), b.longest), b.shortest) }

// reset starts over with the shortest delay.
func (b *backoff) reset() { b.current = 0 }

func jitter(d time.Duration) time.Duration {
	return d - d/4 + rand.N(d/2+1) //nolint:gosec // nobody gains by guessing it
}

// sleep waits for d, or until ctx is done.
func sleep(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
