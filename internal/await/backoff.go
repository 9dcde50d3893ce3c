package await

import (
	"context"
	"math/rand/v2"
	"time"
)

// Backoff computes pauses. Set the fields before the first use.
type Backoff struct {
	// Shortest and Longest bound every pause; Shortest must be positive.
	Shortest, Longest time.Duration
	// Jitter makes each pause up to a quarter longer or shorter, within the bounds, so that
	// clients that lost the same peer don't reconnect at once.
	Jitter bool

	current time.Duration // the last pause before jitter; 0 is none
	since   time.Time     // since when it has worked; zero while it doesn't
}

// Next returns the next pause. After at least Longest of working since Worked it starts over
// with Shortest; alternating success and failure doesn't.
func (b *Backoff) Next() time.Duration {
	if !b.since.IsZero() && time.Since(b.since) >= b.Longest {
		b.current = 0
	}
	b.since = time.Time{}
	b.current = After(b.current, b.Shortest, b.Longest)
	return b.bound(b.current)
}

// Max returns a pause of about Longest, for failures that time alone won't fix. It doesn't
// affect Next.
func (b *Backoff) Max() time.Duration { return b.bound(b.Longest) }

// Worked records that it works from now on.
func (b *Backoff) Worked() { b.since = time.Now() }

// Reset starts over with Shortest.
func (b *Backoff) Reset() { b.current, b.since = 0, time.Time{} }

func (b *Backoff) bound(d time.Duration) time.Duration {
	if b.Jitter {
		d += rand.N(d/2+1) - d/4 //nolint:gosec // nobody gains by guessing it
	}
	return max(min(d, b.Longest), b.Shortest)
}

// After returns the pause that follows one of last, or the first if last is 0: twice as long,
// within the bounds. It is for callers that keep only the last pause.
func After(last, shortest, longest time.Duration) time.Duration {
	return min(max(2*last, shortest), longest)
}

// Sleep waits for d, or until ctx is done, and returns the context's error.
func Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}
