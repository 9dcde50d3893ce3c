package apiclient

import (
	"context"
	"iter"
	"net/http"
	"time"

	"waymark/internal/await"
	"waymark/internal/httpapi/problem"
)

// Connection is what a connection of Follow reports to.
type Connection[T any] struct {
	yield func(T, error) bool
	left  bool // the loop was left
	fresh bool // something arrived since the last pause

	reached bool // somebody has answered
	lost    bool // and doesn't any more; the error has been yielded
	backoff await.Backoff
}

// Open reports that the server answers.
func (c *Connection[T]) Open() { c.reached, c.lost = true, false }

// Progress reports that something arrived, so that the next pause is short.
func (c *Connection[T]) Progress() {
	c.fresh = true
	c.backoff.Reset()
}

// Yield yields a value. It returns false if the loop was left; connect then returns.
func (c *Connection[T]) Yield(v T) bool {
	c.Progress()
	c.left = !c.yield(v, nil)
	return !c.left
}

// Follow yields what connections to a server deliver, one after the other. connect makes one
// connection, and returns when it is lost, or nil at its end. The next one follows at once if
// something arrived, otherwise after a pause.
//
// When the server is lost, Follow yields the error once and, if the loop continues, waits for
// its return, with pauses that grow from a sixteenth of longest to longest. If waiting is
// useless, because nobody has ever answered or the server refuses the request, the error is
// the last thing it yields. It ends without an error when ctx ends.
func Follow[T any](ctx context.Context, longest time.Duration, connect func(context.Context, *Connection[T]) error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		c := &Connection[T]{yield: yield, backoff: await.Backoff{Shortest: max(longest/16, 1), Longest: longest}}
		for ctx.Err() == nil {
			c.fresh = false
			err := connect(ctx, c)
			if ctx.Err() != nil || c.left || err != nil && !c.tolerate(err) {
				return
			}
			if err == nil {
				c.Open()
				if c.fresh {
					continue
				}
				c.backoff.Reset()
			}
			_ = await.Sleep(ctx, c.backoff.Next()) // the loop checks ctx
		}
	}
}

// tolerate yields an error, unless this outage has already yielded one, and reports whether
// to continue.
func (c *Connection[T]) tolerate(err error) bool {
	var none T
	code := problem.CodeOf(err)
	c.reached = c.reached || code != 0
	if !c.reached || isFinal(code) {
		c.yield(none, err)
		return false
	}
	if !c.lost && !c.yield(none, err) {
		return false
	}
	c.lost = true
	return true
}

// isFinal reports whether repeating the request can't change a refusal.
func isFinal(code int) bool {
	return code/100 == 4 && code != http.StatusTooManyRequests && code != http.StatusRequestTimeout
}
