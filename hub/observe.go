package hub

import (
	"context"
	"errors"
	"time"

	"waymark/wire"
)

// PushResult says how a call for a push ended, in a word that can be the label
// of a metric.
type PushResult string

// The results.
const (
	PushAccepted     PushResult = "accepted"
	PushNotAccepted  PushResult = "not_accepted" // its version wasn't newer
	PushFullNeeded   PushResult = "full_needed"  // a delta whose base isn't here
	PushRefused      PushResult = "refused"      // it broke a rule, or its connection is superseded
	PushUnauthorized PushResult = "unauthorized"
	PushBusy         PushResult = "busy"      // too many, or the hub is stopping
	PushTooLarge     PushResult = "too_large" // its message
	PushCanceled     PushResult = "canceled"  // the peer, or the connection, is gone
	PushFailed       PushResult = "failed"    // the store, or a defect: see the log
)

// PushObserved is what Options.Observe is told. It says nothing about who
// pushed, and what.
type PushObserved struct {
	Result   PushResult
	Protocol wire.Protocol
	Delta    bool
	// Bytes is the length of the message; 0 if it never came.
	Bytes int
	// Duration is from the message's last byte to the answer.
	Duration time.Duration
}

// note collects what is told of a call. It belongs to the call's goroutine; nil
// notes nothing.
type note struct {
	rpc    string
	bytes  int
	begin  time.Time // when the message was there
	delta  bool
	result PushResult // once it is decided
}

func (n *note) received(size int) { n.bytes, n.begin = size, time.Now() }

func (n *note) pushed(delta, accepted bool) {
	if n == nil {
		return
	}
	n.delta, n.result = delta, PushNotAccepted
	if accepted {
		n.result = PushAccepted
	}
}

func (n *note) fullNeeded() {
	if n != nil {
		n.result = PushFullNeeded
	}
}

func (n *note) refused() {
	if n != nil {
		n.result = PushRefused
	}
}

// told tells whoever observes how the call ended, if it was one for a push.
func (h *Hub) told(n *note, err error) {
	protocol := map[string]wire.Protocol{
		wire.MethodPush: wire.ProtocolWaymark, wire.MethodPushContextState: wire.ProtocolCoder,
	}[n.rpc]
	if h.observe == nil || protocol == "" {
		return
	}
	o := PushObserved{Result: n.ended(err), Protocol: protocol, Delta: n.delta, Bytes: n.bytes}
	if !n.begin.IsZero() {
		o.Duration = time.Since(n.begin)
	}
	h.observe(o)
}

// ended says how the call ended.
func (n *note) ended(err error) PushResult {
	switch {
	case n.result != "": // that was decided, whatever became of the answer
		return n.result
	case wire.IsUnauthorized(err):
		return PushUnauthorized
	case wire.IsBusy(err):
		return PushBusy
	case wire.IsTooLarge(err):
		return PushTooLarge
	case errors.Is(err, errInternal):
		return PushFailed
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return PushCanceled
	}
	return PushRefused // an error of the mux: what came wasn't a message
}

// Stats is how a hub is doing now.
type Stats struct {
	// Connections of agents, and agents that have one.
	Connections, Agents int
	// Large is the number of large messages that are being received or stored.
	Large int
	// Streams is the number of streams of events, and of requests that wait
	// for news.
	Streams int
	// Draining says that the hub is about to stop.
	Draining bool
}

// Stats returns how the hub is doing now.
func (h *Hub) Stats() Stats {
	return Stats{
		Connections: len(h.places), Agents: len(h.live.connected()), Large: len(h.large),
		Streams: h.consumer.Streams(), Draining: h.drain.begun(),
	}
}
