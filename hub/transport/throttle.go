package transport

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"storj.io/drpc/drpcerr"

	"waymark/internal/await"
	"waymark/wire"
)

// maxThrottle is how long a call is delayed; one that would have to wait longer is refused.
const maxThrottle = time.Second

// errThrottled is that refusal. Nothing was done.
var errThrottled = drpcerr.WithCode(errors.New("too many requests; try again later"), wire.CodeBusy)

// throttle waits until the limiter allows another call.
func throttle(ctx context.Context, limiter *rate.Limiter) error {
	r := limiter.Reserve()
	delay := r.Delay()
	if !r.OK() || delay > maxThrottle {
		r.Cancel()
		return errThrottled
	}
	if delay == 0 {
		return nil
	}
	err := await.Sleep(ctx, delay)
	if err != nil {
		r.Cancel()
	}
	return err
}

// throttle waits until the client may make another call or connection. It checks the
// client's own limit first, so that a busy client doesn't consume the common one.
func (t *Transport) throttle(ctx context.Context, owner *client) error {
	if err := throttle(ctx, owner.rate); err != nil {
		return err
	}
	return throttle(ctx, t.rate)
}

// logEvery is the minimum time between log lines of the same kind.
const logEvery = 10 * time.Minute

// throttledLog counts events that are too frequent to log each.
type throttledLog struct {
	mu    sync.Mutex // guards the other fields
	last  time.Time
	count int
}

// due counts an event, and reports whether to log a line, and for how many events.
func (l *throttledLog) due() (n int, due bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count++
	if !l.last.IsZero() && time.Since(l.last) < logEvery {
		return 0, false
	}
	n, l.count, l.last = l.count, 0, time.Now()
	return n, true
}
