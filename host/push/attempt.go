package push

import (
	"context"
	"time"

	"waymark/wire"
)

// Result says how a push attempt ended, in a word that can be the label of a
// metric.
type Result string

// The results.
const (
	ResultAccepted      Result = "accepted"
	ResultNotAccepted   Result = "not_accepted"  // another writer has a newer version
	ResultFullNeeded    Result = "full_needed"   // a delta whose base the peer hasn't
	ResultUnimplemented Result = "unimplemented" // the peer doesn't know the method
	ResultUnauthorized  Result = "unauthorized"
	ResultSuperseded    Result = "superseded" // a newer session of this agent has taken over
	ResultBusy          Result = "busy"       // the peer wants to be asked later
	ResultTimeout       Result = "timeout"    // no answer in time
	ResultLost          Result = "lost"       // connection or call ended without an answer
	ResultRefused       Result = "refused"    // every other error
	ResultCanceled      Result = "canceled"   // Close, or the end of Run's context
)

// Attempt is one call that brought a snapshot, or should have: also one that
// failed before that, when the peer was asked what it knows.
type Attempt struct {
	Result   Result
	Protocol wire.Protocol
	// Delta says that only what has changed was sent.
	Delta bool
	// Bytes is the length of the encoded message; 0 if it wasn't sent.
	Bytes    int
	Duration time.Duration
}

// observe tells whoever wants to know.
func (p *Pusher) observe(a Attempt) {
	if p.opts.Observe != nil {
		p.opts.Observe(a)
	}
}

// resultOf says how a call ended that failed.
func resultOf(ctx context.Context, err error) Result {
	switch {
	case ctx.Err() != nil:
		return ResultCanceled
	case wire.IsUnimplemented(err):
		return ResultUnimplemented
	case wire.IsUnauthorized(err):
		return ResultUnauthorized
	case wire.IsSuperseded(err):
		return ResultSuperseded
	case wire.IsBusy(err):
		return ResultBusy
	case isTimeout(err):
		return ResultTimeout
	case isLost(err):
		return ResultLost
	default:
		return ResultRefused
	}
}
