package hub

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"waymark/hub/api"
	"waymark/hub/transport"
	"waymark/wire"
)

// PushResult says how a call for a push ended, in a word that can be the label
// of a metric.
type PushResult string

// The results.
const (
	PushAccepted     PushResult = "accepted"
	PushNotAccepted  PushResult = "not_accepted" // its version wasn't newer
	PushFullNeeded   PushResult = "full_needed"  // its base isn't here
	PushContinues    PushResult = "continues"    // payloads are wanted for it, or have come
	PushRefused      PushResult = "refused"      // it broke a rule, or its connection is superseded
	PushUnauthorized PushResult = "unauthorized"
	PushBusy         PushResult = "busy"      // too many, or the hub is stopping
	PushTooLarge     PushResult = "too_large" // its message
	PushCanceled     PushResult = "canceled"  // the peer, or the connection, is gone
	PushFailed       PushResult = "failed"    // the store, or a defect: see the log
)

// PushObserved is what Options.Observe gets of a call for a push. It says nothing
// about who pushed, and what.
type PushObserved struct {
	Result   PushResult
	Protocol wire.Protocol
	// Delta says that it brought what has changed, and not everything.
	Delta bool
	// Bytes is the length of the message; 0 if it never came.
	Bytes int
	// Duration is from the message's last byte to the answer.
	Duration time.Duration
}

// outcome is what the services say of how a call ended. It belongs to the
// call's goroutine.
type outcome struct {
	method string
	delta  bool
	result PushResult // once it is decided
}

type outcomeKey struct{}

func outcomeOf(ctx context.Context) *outcome {
	o, _ := ctx.Value(outcomeKey{}).(*outcome) // BeginCall has put it there
	return o
}

func (o *outcome) stored(delta, accepted bool) {
	o.delta, o.result = delta, PushNotAccepted
	if accepted {
		o.result = PushAccepted
	}
}

// BeginCall implements transport.Services.
func (s *services) BeginCall(ctx context.Context, method string) context.Context {
	return context.WithValue(ctx, outcomeKey{}, &outcome{method: method})
}

// EndCall implements transport.Services: calls for a push are reported to
// Options.Observe.
func (s *services) EndCall(ctx context.Context, call *transport.Call, err error) {
	end := outcomeOf(ctx)
	protocol := map[string]wire.Protocol{
		wire.MethodPush: wire.ProtocolWaymark, wire.MethodUpload: wire.ProtocolWaymark, wire.MethodPushContextState: wire.ProtocolCoder,
	}[end.method]
	if s.hub.observe == nil || protocol == "" {
		return
	}
	o := PushObserved{Result: end.of(err), Protocol: protocol, Delta: end.delta, Bytes: call.Bytes}
	if !call.Received.IsZero() {
		o.Duration = time.Since(call.Received)
	}
	s.hub.observe(o)
}

// of returns the result of a call that ended with err.
func (o *outcome) of(err error) PushResult {
	switch {
	case o.result != "": // that was decided, whatever became of the answer
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
	return PushRefused // an error of the mux: what came wasn't a message
}

// RequestObserved is what ListenOptions.ObserveRequest gets of an answer. It says
// nothing about who asked, and for what.
type RequestObserved struct {
	// Route is "agents" for where agents connect, "events", "api" for the rest
	// of what readers get, "probe" or "page".
	Route string
	Code  int
	// Waited says that the request asked to wait for news.
	Waited bool
	// Duration is until the answer was written; for a connection of an agent
	// and a stream of events that is its life.
	Duration time.Duration
}

func routeOf(path string) string {
	switch {
	case path == wire.EndpointPath:
		return "agents"
	case path == api.Root+"/events":
		return "events"
	case strings.HasPrefix(path, api.Root+"/"):
		return "api"
	case path == "/healthz", path == "/readyz":
		return "probe"
	}
	return "page"
}

// observed reports each answer to ListenOptions.ObserveRequest.
func (s *Server) observed(next http.Handler) http.Handler {
	if s.observe == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begin, answer := time.Now(), &codeWriter{inner: w, code: http.StatusOK}
		defer func() {
			s.observe(RequestObserved{Route: routeOf(r.URL.Path), Code: answer.code, Waited: r.URL.Query().Has("wait"), Duration: time.Since(begin)})
		}()
		next.ServeHTTP(answer, r)
	})
}

// codeWriter keeps the code of an answer. What else the connection can do is
// found through Unwrap, as http.ResponseController does; WebSockets take the
// connection over that way, too.
type codeWriter struct {
	inner http.ResponseWriter
	code  int
}

func (w *codeWriter) Header() http.Header            { return w.inner.Header() }
func (w *codeWriter) Unwrap() http.ResponseWriter    { return w.inner }
func (w *codeWriter) Write(data []byte) (int, error) { return w.inner.Write(data) }

// WriteHeader implements http.ResponseWriter.
func (w *codeWriter) WriteHeader(code int) {
	w.code = code
	w.inner.WriteHeader(code)
}
