package agent

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"
)

// clients counts the requests that an agent answers now, and knows when the last one ended.
type clients struct {
	mu   sync.Mutex // guards the fields below
	now  int
	last time.Time
}

// count returns a handler that counts the requests to next.
func (c *clients) count(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.add(1)
		defer c.add(-1)
		next.ServeHTTP(w, r)
	})
}

func (c *clients) add(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now += n
	c.last = time.Now()
}

// idle returns for how long there has been no request.
func (c *clients) idle() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now > 0 {
		return 0
	}
	return time.Since(c.last)
}

// untilIdle returns when there has been no request for some time, and nothing else is busy.
func (c *clients) untilIdle(ctx context.Context, after time.Duration, busy func() bool) {
	c.add(0) // the time begins now
	for rest := after; ; {
		select {
		case <-ctx.Done():
			return
		case <-time.After(rest):
		}
		if rest = after - c.idle(); rest <= 0 {
			if !busy() {
				return
			}
			rest = after
		}
	}
}

// endIdle returns, which ends the agent, when nobody has needed it for Options.EndIdle.
func (d *Agent) endIdle(ctx context.Context) error {
	d.clients.untilIdle(ctx, d.opts.EndIdle, func() bool { return d.services.status().Running > 0 })
	if ctx.Err() == nil {
		d.log.Info("nobody has needed this agent for a while, so it ends", slog.Duration("after", d.opts.EndIdle))
	}
	return nil
}
