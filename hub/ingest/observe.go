package ingest

import (
	"context"
	"errors"
	"time"

	"waymark/hub/transport"
	"waymark/wire"
)

// PushResult says how a push ended, as a word for a metric's label.
type PushResult string

// Values of PushResult.
const (
	PushAccepted     PushResult = "accepted"
	PushNotAccepted  PushResult = "not_accepted" // its version isn't newer
	PushFullNeeded   PushResult = "full_needed"  // its base isn't stored
	PushContinues    PushResult = "continues"    // payloads are missing or were uploaded
	PushRefused      PushResult = "refused"      // it breaks a rule, or its connection is superseded
	PushUnauthorized PushResult = "unauthorized"
	PushBusy         PushResult = "busy"      // too many pushes, or the hub is stopping
	PushTooLarge     PushResult = "too_large" // the message is too large
	PushCanceled     PushResult = "canceled"  // the peer or connection is gone
	PushFailed       PushResult = "failed"    // an error of the store or an internal one: see the log
)

// PushObserved describes a push, without who pushed what.
type PushObserved struct {
	Result   PushResult
	Protocol wire.Protocol
	// Delta says that it had only changes.
	Delta bool
	// Bytes is the length of the message; 0 if it never arrived.
	Bytes int
	// Duration is from the last byte of the message to the answer.
	Duration time.Duration
}

// outcome is what a service reports about a call. It belongs to the call's goroutine.
type outcome struct {
	method string
	delta  bool
	result PushResult // when it is decided
}

type outcomeKey struct{}

func outcomeOf(ctx context.Context) *outcome {
	o, _ := ctx.Value(outcomeKey{}).(*outcome) // set by BeginCall
	return o
}

func (o *outcome) stored(delta, accepted bool) {
	o.delta, o.result = delta, PushNotAccepted
	if accepted {
		o.result = PushAccepted
	}
}

// BeginCall implements transport.Services.
func (*Service) BeginCall(ctx context.Context, method string) context.Context {
	return context.WithValue(ctx, outcomeKey{}, &outcome{method: method})
}

// EndCall implements transport.Services. It reports pushes to Options.Observe, and when an
// agent is current.
func (s *Service) EndCall(ctx context.Context, call *transport.Call, err error) {
	end := outcomeOf(ctx)
	protocol := map[string]wire.Protocol{
		wire.MethodPush: wire.ProtocolWaymark, wire.MethodUpload: wire.ProtocolWaymark, wire.MethodPushContextState: wire.ProtocolCoder,
	}[end.method]
	if protocol == "" {
		return
	}
	result := end.of(err)
	if call.AgentID != "" && result != PushContinues && result != PushFullNeeded && result != PushBusy {
		call.Current()
	}
	if s.opts.Observe == nil {
		return
	}
	o := PushObserved{Result: result, Protocol: protocol, Delta: end.delta, Bytes: call.Bytes}
	if !call.Received.IsZero() {
		o.Duration = time.Since(call.Received)
	}
	s.opts.Observe(o)
}

// of returns the result of a call that ended with err.
func (o *outcome) of(err error) PushResult {
	switch {
	case o.result != "": // decided, whatever became of the answer
		return o.result
	case wire.IsUnauthorized(err):
		return PushUnauthorized
	case wire.IsBusy(err):
		return PushBusy
	case wire.IsTooLarge(err):
		return PushTooLarge
	case errors.Is(err, transport.ErrInternal):
		return PushFailed
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return PushCanceled
	}
	return PushRefused // an error of the mux: the message was invalid
}
