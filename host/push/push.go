// Package push brings the newest snapshot to one peer and keeps it there.
//
// A [Pusher] holds one connection. It speaks waymark.v1 or, if the peer doesn't know that,
// coder.agent.v2 on the same connection. A peer that knows neither is left alone until the
// next connection. There is no queue: the newest snapshot is sent. A hub gets the changes
// since the last push that it accepted, even on an earlier connection, or everything if it no
// longer has that push. Payloads that it may have are named, and uploaded on request. Coder's
// server gets everything each time. Lost connections are dialed again with exponential
// backoff, or when the peer says so that has refused one.
//
// [Remote] derives the connection's options from a URL: plain DRPC over a socket, or Coder's
// agent endpoint (WebSocket, yamux, a stream for each call), which both a Coder server and a
// hub have.
//
// # Guarantees
//
//   - No two consecutive pushes of a connection have equal content.
//   - Every call has a deadline of its own, because none travels on the wire.
//   - What would make a peer refuse a whole push is mended or left out beforehand, and
//     counted in [Status].
//   - A peer with another writer for the same rows is never fought. Of two agents with one
//     token a hub accepts the one that was started last, tells the other at once, and accepts
//     that one again when the first is gone. With Coder's server, only a refused push shows
//     the conflict.
//   - Neither payloads nor the token appear in errors and logs. The token goes only to the
//     host of the URL, even with redirects.
//
// # Limits
//
// An answer has at most 4 MiB, and at most a few MiB are buffered of a peer that sends
// unrequested data. A peer that vanishes silently is noticed by the next push: after 40
// seconds at the latest with pings (the endpoint), otherwise when the kernel gives up.
//
// # Reverse channel
//
// If Options.Reverse serves requests, a hub may send some to the agent, over a stream that is
// opened for them. The stream has a connection of its own if a connection carries one call at
// a time. The reverse channel never delays a push.
//
// # Concurrency
//
// All methods are safe for concurrent use. One goroutine, the caller of [Pusher.Run], does
// all the work except for the reverse channel's. Close ends both and waits.
package push

import (
	"context"
	cryptorand "crypto/rand"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"waymark/internal/await"
	"waymark/internal/defaults"
	"waymark/snapshot"
	"waymark/wire/reverse"
)

// Options configures a Pusher. With the zero value there is no peer, and the Pusher stays
// idle.
type Options struct {
	// Dialer makes the connection; nil means that there is no peer.
	Dialer Dialer
	// Peer names the peer for a person. It must not hold secrets.
	Peer string
	// Token is sent as metadata with each call. If empty, none is sent: the dialer
	// authenticates in another way, or the peer needs no token.
	Token string
	// Logger gets a line for each change of state; nil logs nothing.
	Logger *slog.Logger
	// MinBackoff is the first delay before a new attempt; 0 means 250 ms.
	MinBackoff time.Duration
	// MaxBackoff is the longest delay, and the interval of slow retries; 0 means 30 s.
	MaxBackoff time.Duration
	// DialTimeout bounds one attempt to connect; 0 means 10 s.
	DialTimeout time.Duration
	// CallTimeout bounds one call; 0 means 10 s, enough for 4 MiB over a slow line and a busy
	// database.
	CallTimeout time.Duration
	// Observe is called after every push attempt by Run's goroutine, which waits for it. It
	// may be nil.
	Observe func(Attempt)
	// Describe returns a description of this agent for people, for each new connection. Only
	// hubs get it. It may be nil.
	Describe func() Description
	// Reverse is what the peer may request from this agent.
	Reverse Reverse
	// Hold returns a one-word reason not to send a resource to this peer, or "" to send it.
	// It depends on the resource alone. Nil sends all.
	Hold func(*snapshot.Resource) Reason
}

// Description describes this agent for people.
type Description struct {
	Hostname, Root, Version string
}

// HoldUser is an Options.Hold that keeps resources of the user's home directory on this
// machine.
func HoldUser(r *snapshot.Resource) Reason {
	if r.Scope == snapshot.ScopeUser {
		return ReasonUser
	}
	return ""
}

// ErrClosed says that the Pusher is closed.
var ErrClosed = errors.New("the pusher is closed")

// errRunning says that Run was called twice.
var errRunning = errors.New("the pusher is already running")

// Pusher brings the newest snapshot to one peer. Make one with New.
type Pusher struct {
	opts    Options
	log     *slog.Logger
	backoff await.Backoff // Run's goroutine only
	// run identifies this Pusher to a hub; see OpenRequest.
	run []byte
	// handlers are those of Options.Reverse; nil if there are none.
	handlers map[string]reverse.Handler
	// yields says that a hub has accepted this run, which therefore doesn't take over from
	// another one. Only Run's goroutine uses it.
	yields bool
	// had is the last push that a hub has accepted on any connection, or nil. Only Run's
	// goroutine uses it.
	had *prepared

	closing context.Context // done once Close has been called
	close   context.CancelFunc
	wake    await.Wake // holds a token when newest has changed

	mu      sync.Mutex         // guards everything below
	newest  *snapshot.Snapshot // what to push; nil until the first Publish
	status  Status
	settled uint64        // the newest version whose content the peer has
	changed await.Signal  // status or settled have changed
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
		// Jitter keeps a fleet of agents from reconnecting to a restarted hub all at once.
		backoff: await.Backoff{Shortest: opts.MinBackoff, Longest: opts.MaxBackoff, Jitter: true},
		closing: closing, close: closeNow,
		run:      newRun(),
		handlers: handlers,
		wake:     await.NewWake(),
		status:   status,
	}
}

// runBytes is the length of a run's name, enough to avoid accidental duplicates.
const runBytes = 16

func newRun() []byte {
	run := make([]byte, runBytes)
	_, _ = cryptorand.Read(run) // never fails
	return run
}

// Publish makes s the snapshot to push. It ignores nil, version 0, and a snapshot that isn't
// newer than the previous one, so that a late result can't replace a newer one. It doesn't
// block. The Pusher keeps s and doesn't change it.
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

// Run pushes until ctx is done or Close is called, and then returns nil. It can be called
// once; after Close it returns ErrClosed.
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
		_ = await.Sleep(ctx, p.connect(ctx)) // the loop checks ctx
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

// Close ends Run, interrupts a push in progress, and waits. It is safe to call twice, and
// before Run.
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

// connect dials, serves the connection until it ends, and returns how long to wait before the
// next one.
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

// failed reports what went wrong with a connection, and returns how long to wait before the
// next one.
func (p *Pusher) failed(ctx context.Context, err error) time.Duration {
	if ctx.Err() != nil { // ours, not the peer's, whatever err says
		return 0
	}
	state := stateOf(err)
	p.setState(state, err)
	var later *LaterError
	switch {
	case errors.As(err, &later):
		// Peers speak in whole seconds: those that are let in within one don't come together.
		return max(p.opts.MinBackoff, min(later.After, maxLater)) + rand.N(time.Second) //nolint:gosec // not a secret
	case state == StateBackingOff:
		return p.backoff.Next()
	default:
		return p.backoff.Max()
	}
}

// maxLater bounds what a peer may say of when to come again.
const maxLater = 5 * time.Minute

// latest returns the newest snapshot; nil if there is none.
func (p *Pusher) latest() *snapshot.Snapshot {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.newest
}
