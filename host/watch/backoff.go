package watch

import "time"

// backoff makes delays that double from shortest to longest. What has worked
// for as long as the longest starts over; what works and fails in turns
// doesn't. Not safe for concurrent use.
type backoff struct {
	shortest, longest time.Duration
	current           time.Duration // the next delay; 0 is shortest
	since             time.Time     // since when it works; zero while it doesn't
}

func (b *backoff) next(now time.Time) time.Duration {
	if !b.since.IsZero() && now.Sub(b.since) >= b.longest {
		b.current = 0
	}
	b.since = time.Time{}
	d := max(b.current, b.shortest)
	b.current = min(2*d, b.longest)
	return d
}

// worked notes that it works from now on.
func (b *backoff) worked(now time.Time) { b.since = now }
