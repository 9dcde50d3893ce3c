package transport

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"storj.io/drpc"
	"storj.io/drpc/drpcerr"

	"waymark/wire"
)

// Services are what a Transport serves; package hub implements them. All methods may be
// called concurrently.
type Services interface {
	// Authenticate returns the owner of a token. The error matches ErrUnauthorized if there
	// is none, or it isn't an agent's.
	Authenticate(ctx context.Context, token string) (Peer, error)
	// ValidTokens returns those of the token ids that are still valid.
	ValidTokens(ctx context.Context, ids []string) ([]string, error)
	// NewSession returns the session for a new connection. end ends the connection as soon
	// as it has no calls in progress, with the reason ErrSuperseded or ErrReleased if the
	// protocol allows one. It doesn't wait.
	NewSession(end func(why error)) Session
	// BeginCall is called at the beginning of every call, even of one that will be refused.
	// It returns the call's context.
	BeginCall(ctx context.Context, method string) context.Context
	// EndCall is called with that context when the call has ended with the answer err.
	EndCall(ctx context.Context, call *Call, err error)
}

// Session is the services' state of a connection.
type Session interface {
	// Begin gives the connection its place in the order of the agent's. It is called at the
	// handshake of a WebSocket, before its peer can send anything.
	Begin(ctx context.Context, agentID string) error
	// HandleRPC serves an admitted call. CallOf returns the call of the stream's context.
	HandleRPC(stream drpc.Stream, method string) error
	// End is called when the connection is gone and has no calls in progress.
	End()
}

// Peer is the owner of a token.
type Peer struct{ TokenID, AgentID string }

// Call is a call on a connection. The goroutine that serves it owns it.
type Call struct {
	// AgentID is the calling agent; empty while the call isn't admitted.
	AgentID string
	// Session is that of the connection.
	Session Session
	// Bytes is the length of the message, and Received when it was complete; both are zero
	// until then. Parts is the number of messages within it.
	Bytes    int
	Parts    int
	Received time.Time

	stream *callStream // if it is admitted
	lasts  bool
}

// Last says that the call lasts as long as its connection, which won't wait for it when it
// ends. Messages of such a call have at most 64 KiB including framing, and may arrive at
// any time. The service must check whether its peer is still there. It is called once, by
// the call's goroutine.
func (c *Call) Last() {
	c.lasts = true
	c.stream.answered()
	c.stream.calls.intake.last()
	c.stream.calls.conn.leave(answerGrace)
}

// Current says that the agent is as current as it will be for now. The next one that waits
// for the store is let in then.
func (c *Call) Current() { c.stream.calls.conn.place.leave(true) }

// End ends a lasting call. The peer gets the error if it reads within Limits.Farewell. On
// plain DRPC the connection may end, too. It may be called from any goroutine while the
// call is served.
func (c *Call) End(err error) {
	intake := c.stream.calls.intake
	late := time.AfterFunc(intake.limits.Farewell, func() { _ = intake.Close() })
	defer late.Stop()
	if s, ok := c.stream.inner.(interface{ SendError(error) error }); ok {
		_ = s.SendError(err)
	}
}

type callKey struct{}

// CallOf returns the call of ctx; nil if there is none.
func CallOf(ctx context.Context) *Call {
	call, _ := ctx.Value(callKey{}).(*Call)
	return call
}

var (
	// ErrUnauthorized says that a token is missing, unknown, revoked, expired or of another
	// role, without saying which. It carries wire.CodeUnauthorized.
	ErrUnauthorized = drpcerr.WithCode(errors.New("unauthorized"), wire.CodeUnauthorized)
	// ErrInternal is all that a peer learns about an internal error.
	ErrInternal = errors.New("internal error; see the hub's log")
	// ErrClosed says that the transport was closed or drained before it could serve.
	ErrClosed = errors.New("hub is closed")
	// ErrBusy says that Limits.Connections is reached.
	ErrBusy = errors.New("too many connections")
	// ErrSuperseded ends the connection of an agent when a newer one with the same token
	// has taken over.
	ErrSuperseded = errors.New("a newer connection with the same token has taken over")
	// ErrReleased ends a connection that waits for the end of that newer one.
	ErrReleased = errors.New("the connection that has taken over is gone; connect again")
)

// Reasons for refused calls and ended connections.
var (
	// errFull is ErrBusy for an agent.
	errFull = drpcerr.WithCode(ErrBusy, wire.CodeBusy)
	// errStopping makes agents reconnect, to this hub or another one.
	errStopping        = drpcerr.WithCode(errors.New("the hub is stopping; connect again"), wire.CodeBusy)
	errRevoked         = errors.New("the token is no longer valid")
	errTooManySessions = errors.New("the token has more connections than it may, and this is the oldest")
)

// Options configure a Transport. Only Services is required.
type Options struct {
	Services Services
	Limits   Limits
	// Logger receives the log, without messages and tokens; nil means no log.
	Logger *slog.Logger
}

// Transport serves connections of agents. Make one with New, serve with ServeDRPC,
// ServeConn and ServeHTTP, and end it with Drain and Close.
type Transport struct {
	services Services
	limits   Limits
	log      *slog.Logger

	conns connections
	// ctx ends with Close, draining with Drain.
	ctx, draining       context.Context //nolint:containedctx // signals with something to wait for
	cancel, beginDrains context.CancelFunc

	// These have an element for each taken unit of a limited resource: connections, large
	// messages, and messages that are expensive to decode.
	slots, large, expensive chan struct{}
	// inside is the door for connections of ServeConn.
	inside *Door
	// These limit the log lines about connections.
	refused, notAccepted, dismissed throttledLog
	// rate limits the calls and connections of all together; unauthenticated stands for
	// peers without a token.
	rate *rate.Limiter
	// admission limits the agents that have come and aren't current yet.
	admission       *admission
	unauthenticated *client

	mu         sync.Mutex // guards closed and rechecking, and running against Add after Wait
	closed     bool
	rechecking bool
	// running counts the connections, and the goroutine of recheckTokens.
	running sync.WaitGroup
}

// New makes a Transport. It starts nothing.
func New(opts Options) *Transport {
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	opts.Limits.setDefaults()
	t := &Transport{
		services: opts.Services, limits: opts.Limits, log: opts.Logger,
		slots:     make(chan struct{}, opts.Limits.Connections),
		large:     make(chan struct{}, opts.Limits.Large),
		expensive: make(chan struct{}, expensiveDecodes),
		admission: newAdmission(),
		rate:      rate.NewLimiter(rate.Limit(opts.Limits.TotalRate), opts.Limits.TotalBurst),
	}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	t.draining, t.beginDrains = context.WithCancel(context.Background())
	t.conns.init(&t.limits)
	t.unauthenticated = t.conns.newClient("")
	t.inside = t.agentsDoor("inside")
	return t
}

// begin registers a call of a Serve method, for which Close waits. The context ends with
// the caller's and with the transport. The caller must call end.
func (t *Transport) begin(ctx context.Context) (_ context.Context, end func(), err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed || t.Draining() {
		return nil, nil, ErrClosed
	}
	if !t.rechecking {
		t.rechecking = true
		t.running.Go(t.recheckTokens)
	}
	t.running.Add(1)
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(t.ctx, cancel)
	return ctx, func() { stop(); cancel(); t.running.Done() }, nil
}

// takeSlot takes one of Limits.Connections.
func (t *Transport) takeSlot() (release func(), err error) {
	select {
	case t.slots <- struct{}{}:
		return func() { <-t.slots }, nil
	default:
		return nil, t.full()
	}
}

// full logs that all connections are taken.
func (t *Transport) full() error {
	if n, due := t.refused.due(); due {
		t.log.Warn("connections refused", slog.Any("error", ErrBusy), slog.Int("limit", cap(t.slots)), slog.Int("times", n))
	}
	return ErrBusy
}

// Draining reports whether Drain has been called.
func (t *Transport) Draining() bool { return t.draining.Err() != nil }

// Drain ends the connections gracefully: it accepts no new ones, answers calls in progress,
// and ends each connection so that its agent reconnects. It returns when none is left, or
// with ctx's error; Close ends the rest. It may be called twice.
func (t *Transport) Drain(ctx context.Context) error {
	t.beginDrains()
	list, empty := t.conns.all()
	for _, c := range list {
		c.goAway(errStopping)
	}
	if empty == nil {
		return nil
	}
	select {
	case <-empty:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close ends all connections and waits until nothing of the transport runs any more. It may
// be called twice, and before anything was served.
func (t *Transport) Close() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.cancel()
	t.running.Wait()
}

// Agents lists the agents with an authenticated connection, in no particular order.
func (t *Transport) Agents() []string { return t.conns.agentIDs() }

// Connected reports whether the agent is one of Agents.
func (t *Transport) Connected(agentID string) bool { return t.conns.connected(agentID) }

// Connections returns the number of agents' connections.
func (t *Transport) Connections() int { return len(t.slots) }

// LargeMessages returns the number of large messages that are being received or served.
func (t *Transport) LargeMessages() int { return len(t.large) }

// Limits returns the limits with defaults.
func (t *Transport) Limits() Limits { return t.limits }
