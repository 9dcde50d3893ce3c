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

// Services are what a Transport serves; package hub has them. All methods may
// be called at the same time.
type Services interface {
	// Authenticate says whose token the text is. The error matches
	// ErrUnauthorized when it is nobody's, or not an agent's.
	Authenticate(ctx context.Context, token string) (Peer, error)
	// ValidTokens returns those of the tokens, by id, that are still valid.
	ValidTokens(ctx context.Context, ids []string) ([]string, error)
	// NewSession returns what serves the calls of a new connection. Its end
	// function ends that one as soon as no call is under way on it, and says
	// why where the protocol has room for it: with ErrSuperseded or ErrReleased.
	// It doesn't wait.
	NewSession(end func(why error)) Session
	// BeginCall begins every call, also one that is about to be refused. The
	// context that it returns is the call's.
	BeginCall(ctx context.Context, method string) context.Context
	// EndCall gets that context when the call has ended with err, its answer.
	EndCall(ctx context.Context, call *Call, err error)
}

// Session is what the services keep of one connection.
type Session interface {
	// Begin gives the connection its place in the order of the agent's. It is
	// called at the handshake of a WebSocket, before its peer can send anything.
	Begin(ctx context.Context, agentID string) error
	// HandleRPC serves an admitted call: CallOf knows the call by the stream's
	// context.
	HandleRPC(stream drpc.Stream, method string) error
	// End is called when the connection is gone and no call is under way on it.
	End()
}

// Peer is the owner of a token.
type Peer struct{ TokenID, AgentID string }

// Call is one call on a connection. The goroutine that serves it owns it.
type Call struct {
	// AgentID is the agent that calls; empty while the call isn't admitted.
	AgentID string
	// Session is that of the connection.
	Session Session
	// Bytes is the length of the message, and Received when all of it was there;
	// both are zero until then. Parts is how many messages there are within it.
	Bytes    int
	Parts    int
	Received time.Time

	stream *callStream // of an admitted one
	lasts  bool
}

// Last says that the call goes on for as long as its connection does: that one
// doesn't wait for it when it is to end. Messages of such a call are short, at most
// 64 KiB with what is around them, and may come at any time: that its peer is still
// there is the service's to see to. It is called once, by the call's goroutine.
func (c *Call) Last() {
	c.lasts = true
	c.stream.calls.intake.last()
	c.stream.calls.conn.leave(answerGrace)
}

// End ends a lasting call: with the error, where the peer reads that within
// Limits.Farewell, and in any case. On plain DRPC that may take the connection with
// it. It may be called from any goroutine, while the call is served.
func (c *Call) End(err error) {
	intake := c.stream.calls.intake
	late := time.AfterFunc(intake.limits.Farewell, func() { _ = intake.Close() })
	defer late.Stop()
	if s, ok := c.stream.inner.(interface{ SendError(error) error }); ok {
		_ = s.SendError(err)
	}
}

type callKey struct{}

// CallOf returns the call that ctx belongs to; nil if there is none.
func CallOf(ctx context.Context) *Call {
	call, _ := ctx.Value(callKey{}).(*Call)
	return call
}

var (
	// ErrUnauthorized says that a token is missing, unknown, revoked, expired or
	// of another role; which of them is nobody's business. It carries
	// wire.CodeUnauthorized.
	ErrUnauthorized = drpcerr.WithCode(errors.New("unauthorized"), wire.CodeUnauthorized)
	// ErrInternal is all that a peer learns of what is wrong on this side.
	ErrInternal = errors.New("internal error; see the hub's log")
	// ErrClosed says that the transport was closed, or drained, before it was
	// asked to serve.
	ErrClosed = errors.New("hub is closed")
	// ErrBusy says that Limits.Connections are open.
	ErrBusy = errors.New("too many connections")
	// ErrSuperseded ends the connection of an agent when a newer one with the
	// same token has taken over.
	ErrSuperseded = errors.New("a newer connection with the same token has taken over")
	// ErrReleased ends one that waits for it when that newer one is gone.
	ErrReleased = errors.New("the connection that has taken over is gone; connect again")
)

// Why calls are refused and connections end.
var (
	// errFull is ErrBusy for an agent.
	errFull = drpcerr.WithCode(ErrBusy, wire.CodeBusy)
	// errStopping: agents come back, to this hub or to another one.
	errStopping        = drpcerr.WithCode(errors.New("the hub is stopping; connect again"), wire.CodeBusy)
	errRevoked         = errors.New("the token is no longer valid")
	errTooManySessions = errors.New("the token has more connections than it may, and this is the oldest")
)

// Options configure a Transport. Only Services must be set.
type Options struct {
	Services Services
	Limits   Limits
	// Logger gets what happens, without messages and tokens; nil means none.
	Logger *slog.Logger
}

// Transport serves connections of agents. New makes one; ServeDRPC, ServeConn
// and ServeHTTP put it to work; Drain and Close end it.
type Transport struct {
	services Services
	limits   Limits
	log      *slog.Logger

	conns connections
	// ctx ends when Close is called, draining when Drain is.
	ctx, draining       context.Context //nolint:containedctx // signals with something to wait for
	cancel, beginDrains context.CancelFunc

	// Each of these has an element for each that is taken of something that
	// there is a bounded number of: connections, large messages, and messages
	// that take much to decode.
	slots, large, expensive chan struct{}
	// inside is the door of connections that come from the caller of ServeConn.
	inside *Door
	// These keep lines about connections few.
	refused, notAccepted, dismissed throttledLog
	// rate bounds the calls and connections of all together; unauthenticated
	// stands for whoever hasn't shown a token.
	rate            *rate.Limiter
	unauthenticated *client

	mu         sync.Mutex // guards closed and rechecking, and running against Add after Wait
	closed     bool
	rechecking bool
	// running counts the connections, and the goroutine that rechecks tokens.
	running sync.WaitGroup
}

// New makes a Transport. It doesn't start anything.
func New(opts Options) *Transport {
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	opts.Limits.setDefaults()
	t := &Transport{
		services: opts.Services, limits: opts.Limits, log: opts.Logger,
		slots:     make(chan struct{}, opts.Limits.Connections),
		large:     make(chan struct{}, opts.Limits.Large),
		expensive: make(chan struct{}, expensiveDecodes),
		rate:      rate.NewLimiter(rate.Limit(opts.Limits.TotalRate), opts.Limits.TotalBurst),
	}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	t.draining, t.beginDrains = context.WithCancel(context.Background())
	t.conns.init(&t.limits)
	t.unauthenticated = t.conns.newClient("")
	t.inside = t.agentsDoor("inside")
	return t
}

// begin registers a call of one of the Serve methods, which Close has to wait
// for. The context ends with the caller's and with the transport; end must be
// called.
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

// Drain ends the connections in good order: no new ones are taken, calls that
// are under way are answered, and then each connection is ended, which tells
// its agent to connect again. It returns when none is left, or with ctx's
// error; Close ends what is left then. It may be called twice.
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

// Close ends all connections and waits until nothing of the transport runs any
// more. It may be called twice, and before anything was served.
func (t *Transport) Close() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.cancel()
	t.running.Wait()
}

// Agents lists the agents that have a connection on which they have shown their
// token, in no order.
func (t *Transport) Agents() []string { return t.conns.agentIDs() }

// Connected reports whether the agent is one of Agents.
func (t *Transport) Connected(agentID string) bool { return t.conns.connected(agentID) }

// Connections returns how many connections of agents there are.
func (t *Transport) Connections() int { return len(t.slots) }

// LargeMessages returns how many large messages are being received or served.
func (t *Transport) LargeMessages() int { return len(t.large) }

// Limits returns the limits with their defaults.
func (t *Transport) Limits() Limits { return t.limits }
