package hub

import (
	"context"
	"errors"
	"time"

	"golang.org/x/time/rate"
	"storj.io/drpc/drpcerr"

	"waymark/wire"
)

// maxThrottle is how long a call is held up when there are too many; what
// would have to wait for longer is refused.
const maxThrottle = time.Second

// errBusy is that refusal. Nothing has been done then.
var errBusy = drpcerr.WithCode(errors.New("too many requests; try again later"), wire.CodeBusy)

// throttle waits until the limiter lets one more pass.
func throttle(ctx context.Context, limiter *rate.Limiter) error {
	r := limiter.Reserve()
	delay := r.Delay()
	switch {
	case !r.OK() || delay > maxThrottle:
		r.Cancel()
		return errBusy
	case delay == 0:
		return nil
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		r.Cancel()
		return ctx.Err()
	}
}

// throttle waits until the caller may make one more call or connection: for
// its own sake first, so that one that makes too many takes nothing of what all
// have together.
func (h *Hub) throttle(ctx context.Context, who caller) error {
	if err := throttle(ctx, who.holder.rate); err != nil {
		return err
	}
	return throttle(ctx, h.rate)
}
