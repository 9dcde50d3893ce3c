package transport

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"storj.io/drpc/drpcerr"

	"waymark/internal/backoff"
	"waymark/wire"
)

// maxThrottle is how long a call is held up when there are too many; what
// would have to wait for longer is refused.
const maxThrottle = time.Second

// errThrottled is that refusal. Nothing has been done then.
var errThrottled = drpcerr.WithCode(errors.New("too many requests; try again later"), wire.CodeBusy)

// throttle waits until the limiter lets one more pass.
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
	err := backoff.Sleep(ctx, delay)
	if err != nil {
		r.Cancel()
	}
	return err
}

// throttle waits until the client may make one more call or connection: for
// its own sake first, so that one that makes too many takes nothing of what all
// have together.
func (t *Transport) throttle(ctx context.Context, owner *client) error {
	if err := throttle(ctx, owner.rate); err != nil {
		return err
	}
	return throttle(ctx, t.rate)
}

// logEvery is how often there is a line of what could fill a log.
const logEvery = 10 * time.Minute

// throttledLog counts what happens too often to log each.
type throttledLog struct {
	mu    sync.Mutex // guards the rest
	last  time.Time
	count int
}

// due counts one more, and reports whether it is time for a line and how many
// there have been since the last one.
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
