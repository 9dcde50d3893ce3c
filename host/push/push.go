// Package push brings the newest snapshot to one peer and keeps it there.
//
// A [Pusher] holds one connection. It speaks waymark.v1 and, where the peer
// doesn't know it, coder.agent.v2 on the same connection; a peer that knows
// neither is left alone until it has been connected anew. What is sent is
// always the newest snapshot; there is no queue. A hub is sent what has changed since
// the last push that it accepted, also on an earlier connection, and everything where
// it hasn't that; payloads that it may have are named, and uploaded where it wants
// them. Coder's server is sent all of it each time. Lost connections are dialed again
// with exponential back-off.
//
// [Remote] makes the connection's options of a URL: plain DRPC over a socket,
// or Coder's agent endpoint (WebSocket, yamux, a stream for each call), which
// both a Coder server and a hub have.
//
// Guarantees: no two consecutive pushes of a connection are of equal content, every call
// has a deadline, since none travels on the wire, and what would make a peer
// refuse a whole push is mended or left out beforehand, and counted in
// [Status]. A peer with another writer for the same rows is never fought: of two
// agents with one token a hub hears the one that was started last, tells the
// other one at once, and hears that again when the first is gone; of Coder's
// server only a refused push can be learned from.
// Neither payloads nor the token appear in errors and logs. The token goes to
// the host of the URL and nowhere else, redirects included.
//
// Limits: an answer is at most 4 MiB, and what is buffered of a peer that
// sends what nobody asked for at most a few MiB. A peer that vanishes without
// a word is noticed by the next push, at the latest after 40 seconds where
// there are pings (the endpoint), and when the kernel gives up elsewhere.
//
// A hub may ask something of the agent, where Options.Reverse serves that: over a
// stream that is opened for it, on a connection of its own where calls of one come
// one after another. What happens to that never holds up a push.
//
// All methods are safe for concurrent use. One goroutine, the caller of
// [Pusher.Run], does all the work but for the reverse channel's; Close ends both and
// waits.
package push

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"sync"
	"time"

	"waymark/internal/backoff"
	"waymark/internal/defaults"
	"waymark/internal/notify"
	"waymark/snapshot"
	"waymark/wire/reverse"
)

// Options sets up a Pusher. The zero value is one that has nothing to push
// to: it stays idle.
type Options struct {
	// Dialer makes the connection; nil means that there is no peer.
	Dialer Dialer
	// Peer names the peer for a person. It must not hold secrets.
	Peer string
	// Token is sent as metadata with each call. Empty means that none is:
	// the dialer has its own way, or the peer doesn't want one.
	Token string
	// Logger gets a line for each change of state. Nil means none.
	Logger *slog.Logger
	// MinBackoff is the first delay before a new attempt; 0 means 250 ms.
	MinBackoff time.Duration
	// MaxBackoff is the longest one, and the pace of slow retries; 0 means
	// 30 s.
	MaxBackoff time.Duration
	// DialTimeout bounds one attempt to connect; 0 means 10 s.
	DialTimeout time.Duration
	// CallTimeout bounds one call; 0 means 10 s, enough for 4 MiB over a
	// slow line and a database that is busy.
	CallTimeout time.Duration
	// Observe is called after every push attempt, by Run's goroutine, which
	// waits for it. Nil means that nothing is.
	Observe func(Attempt)
	// Describe says which agent this is, for people, whenever a connection begins; nil
	// means that nothing is said. Only hubs are told.
	Describe func() Description
	// Reverse is what the peer may ask of this agent.
	Reverse Reverse
	// Hold says in a word why a resource is nothing for this peer, and "" where it is
	// sent. It depends on the resource alone. Nil means that all are.
	Hold func(*snapshot.Resource) Reason
}

// Description says to people which agent this is.
type Description struct {
	Hostname, Root, Version string
}

// HoldUser is an Options.Hold: what is in the user's home directory stays on this machine.
func HoldUser(r *snapshot.Resource) Reason {
	if r.Scope == snapshot.ScopeUser {
		return ReasonUser
	}
	return ""
}

// ErrClosed says that the Pusher has been closed.
var ErrClosed = errors.New("the pusher is closed")

// errRunning says that Run was called twice.
var errRunning = errors.New("the pusher is already running")

// Pusher brings the newest snapshot to one peer. Make one with New.
type Pusher struct {
	opts    Options
	log     *slog.Logger
	backoff backoff.Backoff // Run's goroutine only
	// run names this Pusher to a hub; see OpenRequest.
	run []byte
	// handlers are those of Options.Reverse; nil for none.
	handlers map[string]reverse.Handler
	// yields says that this run has been heard, and so doesn't take over from
	// another one. Run's goroutine only.
	yields bool
	// had is what a hub has accepted last, with whatever connection; nil for nothing. Run's
	// goroutine only.
	had *prepared

	closing context.Context // done once Close has been called
	close   context.CancelFunc
	wake    notify.Wake // holds a token when newest has changed

	mu      sync.Mutex         // guards everything below
	newest  *snapshot.Snapshot // what to push; nil until the first Publish
	status  Status
	settled uint64        // the newest version that the peer has, or has the equal of
	changed notify.Signal // status or settled have changed
	stopped chan struct{} // closed when Run has returned; nil before Run
}

// New makes a Pusher; Run starts it.
func New(opts Options) *Pusher {
	opts = defaults.Or(opts, Options{
		MinBackoff: 250 * time.Millisecond, MaxBackoff: 30 * time.Second, DialTimeout: 10 * time.Second, CallTimeout: 10 * time.Second,
		Logger: slog.New(slog.DiscardHandler),
	})
	closing, closeNow := context.WithCancel(context.Background())
	status := Status{Peer: opts.Peer, State: StateIdle, HeldBack: HeldBack{Reasons: map[Reason]int{}}, Reverse: ReverseStatus{State: ReverseOff}}
	handlers := opts.Reverse.handlers()
	if handlers != nil {
		status.Reverse.State = ReverseClosed
	}
	return &Pusher{
		opts: opts,
		log:  opts.Logger.With(slog.String("peer", opts.Peer)),
		// Jitter keeps a fleet of agents from coming back to a restarted hub
		// all at once.
		backoff: backoff.Backoff{Shortest: opts.MinBackoff, Longest: opts.MaxBackoff, Jitter: true},
		closing: closing, close: closeNow,
		run:      newRun(),
		handlers: handlers,
		wake:     notify.NewWake(),
		status:   status,
	}
}

// runBytes is the length of a run's name: no two are the same by chance.
const runBytes = 16

func newRun() []byte {
	run := make([]byte, runBytes)
	_, _ = rand.Read(run) // never fails
	return run
}

// Publish makes s the snapshot to push, unless it is nil, of version 0, or
// not newer than the one before: a late result of older work must not
// overwrite a newer one. It doesn't block. The Pusher keeps s and doesn't
// change it.
func (p *Pusher) Publish(s *snapshot.Snapshot) {
	if s == nil || s.Version == 0 {
		return
	}
	p.mu.Lock()
	newer := p.newest == nil || s.Version > p.newest.Version
	if newer {
		p.newest = s
	}
	p.mu.Unlock()
	if !newer {
		return
	}
	p.wake.Set()
}

// Run pushes until ctx is done or Close is called, and then returns nil. It
// can be called once; after Close it returns ErrClosed.
func (p *Pusher) Run(ctx context.Context) error {
	stopped, err := p.begin()
	if err != nil {
		return err
	}
	defer close(stopped)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(p.closing, cancel)()
	defer p.setState(StateIdle, nil)

	if p.opts.Dialer == nil {
		<-ctx.Done()
		return nil
	}
	for ctx.Err() == nil {
		_ = backoff.Sleep(ctx, p.connect(ctx)) // the loop looks at ctx
	}
	return nil
}

// begin makes sure that Run runs once.
func (p *Pusher) begin() (chan struct{}, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closing.Err() != nil {
		return nil, ErrClosed
	}
	if p.stopped != nil {
		return nil, errRunning
	}
	p.stopped = make(chan struct{})
	return p.stopped, nil
}

// Close ends Run, cuts a push that is under way, and waits. It is safe to
// call twice, and before Run.
func (p *Pusher) Close() error {
	p.mu.Lock()
	p.close() // under the lock: no Run can begin after this
	stopped := p.stopped
	p.mu.Unlock()
	if stopped != nil {
		<-stopped
	}
	return nil
}

// connect dials, serves the connection until it ends, and returns how long to
// wait before the next one.
func (p *Pusher) connect(ctx context.Context) time.Duration {
	p.setState(StateConnecting, nil)
	conn, err := p.dial(ctx)
	if err != nil {
		return p.failed(ctx, err)
	}
	// The session's error says more than that of closing a broken connection.
	defer func() { _ = conn.Close() }()
	p.setState(StateConnected, nil)
	s := newSession(p, conn)
	return s.serve(ctx)
}

// failed says what went wrong with a connection, and returns how long to wait
// before the next one.
func (p *Pusher) failed(ctx context.Context, err error) time.Duration {
	if ctx.Err() != nil { // ours, not the peer's, whatever err says
		return 0
	}
	state := stateOf(err)
	p.setState(state, err)
	if state == StateBackingOff {
		return p.backoff.Next()
	}
	return p.backoff.Max()
}

// latest returns the newest snapshot; nil when there is none.
func (p *Pusher) latest() *snapshot.Snapshot {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.newest
}
