package reverse

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
	"google.golang.org/protobuf/proto"
	"storj.io/drpc"
	"storj.io/drpc/drpcerr"

	"waymark/internal/await"
	"waymark/wire"
	"waymark/wire/waymark"
)

// The kinds of requests.
const (
	// KindSetApprovals brings an agent the signed approvals that concern it; the body is a
	// waymark.SetApprovals.
	KindSetApprovals = "approvals.set"

	// KindMCPRequest makes a request about resources and prompts of the workspace's MCP
	// servers. The body is a waymark.ToolsCall with the method as its name and the parameters
	// as its arguments, the answer a waymark.ToolsAnswer with the result.
	KindMCPRequest = "mcp.request"

	// KindToolsList asks an agent for the tools that a chat's capability permits,
	// KindToolsCall calls one, and KindToolsMore fetches the rest of an answer that was too
	// long for a frame. The bodies are a waymark.ToolsList, ToolsCall and ToolsMore, the
	// answers a waymark.ToolsAnswer. A hub has no authority of its own for any of them.
	KindToolsList = "tools.list"
	KindToolsCall = "tools.call"
	KindToolsMore = "tools.more"
)

// Version is the highest version of the channel that this package speaks.
const Version = 1

// The limits of the channel.
const (
	// MaxToAgent and MaxToHub bound a frame, in bytes. What an agent sends stays below what
	// its hub accepts from anybody without reserving room for it.
	MaxToAgent = 1 << 20
	MaxToHub   = 48 << 10
	// MaxInFlight bounds the pending requests of one side.
	MaxInFlight = 16
	// MaxDeadline bounds how long a request may take.
	MaxDeadline = 10 * time.Minute

	defaultDeadline = 30 * time.Second

	maxRunID = 64
	maxKinds = 64
	maxKind  = 64
	// maxNote bounds a note, in bytes.
	maxNote = 8 << 10
	// maxNotes bounds the notes of a request that wait to be taken.
	maxNotes = 64

	// framesPerSecond and framesAtOnce are more than an honest peer sends: a tool call takes
	// some milliseconds and a frame each way.
	framesPerSecond = 500
	framesAtOnce    = 500
)

// Handler serves one kind of requests. Its context ends with the request's deadline, when the
// peer cancels the request, and with the channel. The peer sees its errors; an *Error keeps
// its code.
type Handler func(ctx context.Context, body []byte) ([]byte, error)

// Hello is what a peer says of itself.
type Hello struct {
	Version int
	Run     []byte
	Kinds   []string
}

// Knows reports whether the peer serves requests of a kind.
func (h *Hello) Knows(kind string) bool { return slices.Contains(h.Kinds, kind) }

// Options configure a Channel. End must be set.
type Options struct {
	// Agent says which end this is: an agent speaks first.
	Agent bool
	// Run is an agent's run; see waymark.OpenRequest.
	Run []byte
	// Handlers are the requests that this side serves, by kind.
	Handlers map[string]Handler
	// Greet is called with the peer's hello before any of its requests; an error ends the
	// channel. It may be nil.
	Greet func(Hello) error
	// Ready is called once both sides have said hello. It must not block, and may be nil.
	Ready func(Hello)
	// Observe is called after each request that was served here. It may be nil.
	Observe func(Served)
	// End ends the stream and its connection, so that sending and receiving end, whatever the
	// peer does. It is called once, before Run returns.
	End func(error)
	// Hello is how long the peer has to say hello; 0 means 10 s.
	Hello time.Duration
	// Alive is the interval of each side's signs of life, and a third of how long the other
	// side may be silent; 0 means 30 s.
	Alive time.Duration
	// Write is how long sending a frame may take; 0 means 10 s.
	Write time.Duration
}

// Served is a request that was served.
type Served struct {
	Kind string
	// Code is that of the answer; 0 means success.
	Code uint64
	// Bytes is the length of the request's body, Digest its SHA-256 in hexadecimal.
	Bytes    int
	Digest   string
	Duration time.Duration
}

// Channel is one end of a reverse channel.
type Channel struct {
	stream  drpc.Stream
	opts    Options
	frames  *rate.Limiter
	sending *await.Turn   // held while sending a frame
	calls   chan struct{} // an element for each request of ours

	ctx    context.Context //nolint:containedctx // ends with the channel
	cancel context.CancelCauseFunc
	once   sync.Once      // of end
	work   sync.WaitGroup // handlers and background goroutines

	sent, received atomic.Int64 // time of the last frame, in nanoseconds since begin
	begin          time.Time

	mu      sync.Mutex // guards the rest
	peer    *Hello     // nil until it has said hello
	last    uint64     // id of the last request of ours
	waiting map[uint64]waits
	serving map[uint64]context.CancelFunc
}

// New makes one end of a channel over a stream. Run starts it.
func New(stream drpc.Stream, opts Options) *Channel {
	opts.Hello = cmp.Or(opts.Hello, 10*time.Second)
	opts.Alive = cmp.Or(opts.Alive, 30*time.Second)
	opts.Write = cmp.Or(opts.Write, 10*time.Second)
	c := &Channel{
		stream: stream, opts: opts, frames: rate.NewLimiter(framesPerSecond, framesAtOnce), begin: time.Now(),
		calls:   make(chan struct{}, MaxInFlight),
		waiting: make(map[uint64]waits), serving: make(map[uint64]context.CancelFunc),
	}
	c.ctx, c.cancel = context.WithCancelCause(stream.Context())
	c.sending = await.NewTurn(c.ctx)
	return c
}

// Reasons for the end of a channel, besides the stream's errors.
var (
	// ErrEnded says that the peer has ended the channel without a reason.
	ErrEnded = errors.New("the reverse channel has ended")

	errSilent = errors.New("nothing was heard on the reverse channel for too long")
	errSlow   = errors.New("the peer doesn't read from the reverse channel")
)

// ruleError says that the peer has broken a rule.
type ruleError struct{ text string }

func (e *ruleError) Error() string { return "the reverse channel: " + e.text }

// Run serves the channel until it ends, and returns why. After End it returns the error given
// to End. A canceled context doesn't count as the reason if the stream has another one.
func (c *Channel) Run() error {
	hello := time.AfterFunc(c.opts.Hello, func() {
		if c.Peer() == nil {
			c.End(errSilent)
		}
	})
	defer hello.Stop()
	stop := context.AfterFunc(c.ctx, func() { c.End(context.Cause(c.ctx)) })
	defer stop()
	c.work.Go(c.stayAlive)
	err := c.serve()
	c.End(err)
	c.work.Wait()
	if cause := context.Cause(c.ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return err // the stream's end also ends its context, perhaps before the reason is read
}

// End ends the channel because of err. It doesn't wait for Run.
func (c *Channel) End(err error) {
	c.once.Do(func() {
		c.mu.Lock()
		c.cancel(err) // under the lock: nothing begins after this
		c.mu.Unlock()
		c.opts.End(err)
	})
}

// Ended reports whether the channel has ended.
func (c *Channel) Ended() bool { return c.ctx.Err() != nil }

// Peer returns what the peer has said of itself, and nil until then.
func (c *Channel) Peer() *Hello {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.peer
}

// serve reads frames until it can't.
func (c *Channel) serve() error {
	if c.opts.Agent {
		// EOF, or an end: the reason has already arrived.
		if err := c.sayHello(); err != nil && !errors.Is(err, io.EOF) && c.ctx.Err() == nil {
			return err
		}
	}
	for {
		var frame waymark.ReverseFrame
		err := c.stream.MsgRecv(&frame, encoding{c.maxReceive()})
		switch {
		case errors.Is(err, io.EOF):
			return ErrEnded
		case err != nil:
			return err
		}
		c.received.Store(int64(time.Since(c.begin)))
		if err := c.frames.Wait(c.ctx); err != nil {
			return err
		}
		if err := c.take(&frame); err != nil {
			return err
		}
	}
}

// take handles one frame.
func (c *Channel) take(frame *waymark.ReverseFrame) error {
	if hello := frame.GetHello(); hello != nil {
		return c.greet(hello)
	}
	if c.Peer() == nil {
		return &ruleError{"something came before a hello"}
	}
	switch f := frame.GetFrame().(type) {
	case *waymark.ReverseFrame_Request:
		return c.accept(f.Request)
	case *waymark.ReverseFrame_Response:
		c.mu.Lock()
		answer := c.waiting[f.Response.GetId()]
		delete(c.waiting, f.Response.GetId())
		c.mu.Unlock()
		if answer.response != nil { // otherwise nobody waits any more
			answer.response <- f.Response
		}
	case *waymark.ReverseFrame_Note:
		c.mu.Lock()
		notes := c.waiting[f.Note.GetId()].notes
		c.mu.Unlock()
		if body := f.Note.GetBody(); len(body) <= maxNote {
			select {
			case notes <- body:
			default: // nobody takes it, or not fast enough
			}
		}
	case *waymark.ReverseFrame_Cancel:
		c.mu.Lock()
		cancel := c.serving[f.Cancel.GetId()]
		c.mu.Unlock()
		if cancel != nil {
			cancel()
		}
	}
	return nil // a ping, or a frame of a later version
}

// greet handles the peer's hello, and answers an agent's.
func (c *Channel) greet(frame *waymark.ReverseHello) error {
	peer := &Hello{Version: int(min(frame.GetVersion(), Version)), Run: frame.GetRunId(), Kinds: frame.GetKinds()}
	long := func(kind string) bool { return len(kind) > maxKind }
	switch {
	case c.Peer() != nil:
		return &ruleError{"a second hello"}
	case peer.Version == 0:
		return &ruleError{"a hello without a version"}
	case len(peer.Run) > maxRunID || len(peer.Kinds) > maxKinds || slices.ContainsFunc(peer.Kinds, long):
		return &ruleError{"a hello that is too long"}
	}
	if c.opts.Greet != nil {
		if err := c.opts.Greet(*peer); err != nil {
			return err
		}
	}
	if !c.opts.Agent {
		if err := c.sayHello(); err != nil {
			return err
		}
	}
	c.mu.Lock()
	c.peer = peer
	c.mu.Unlock()
	if c.opts.Ready != nil {
		c.opts.Ready(*peer)
	}
	return nil
}

func (c *Channel) sayHello() error {
	return c.send(c.ctx, &waymark.ReverseFrame{Frame: &waymark.ReverseFrame_Hello{Hello: &waymark.ReverseHello{
		Version: Version, RunId: c.opts.Run, Kinds: slices.Sorted(maps.Keys(c.opts.Handlers)),
	}}})
}

// send sends one frame after those before it.
func (c *Channel) send(ctx context.Context, frame *waymark.ReverseFrame) error {
	_, leave, err := c.sending.Take(ctx)
	if err != nil {
		return err
	}
	defer leave()
	slow := time.AfterFunc(c.opts.Write, func() { c.End(errSlow) })
	defer slow.Stop()
	err = c.stream.MsgSend(frame, encoding{c.maxSend()})
	c.sent.Store(int64(time.Since(c.begin)))
	return err
}

// stayAlive pings the peer when nothing else is sent, and ends the channel if the peer is
// silent.
func (c *Channel) stayAlive() {
	ticker := time.NewTicker(c.opts.Alive)
	defer ticker.Stop()
	for {
		select {
		case <-c.ctx.Done():
			return
		case <-ticker.C:
		}
		now := time.Since(c.begin)
		if now-time.Duration(c.received.Load()) > 3*c.opts.Alive {
			c.End(errSilent)
			return
		}
		if c.Peer() != nil && now-time.Duration(c.sent.Load()) >= c.opts.Alive/2 {
			// The reader of the stream gets its errors, too.
			_ = c.send(c.ctx, &waymark.ReverseFrame{Frame: &waymark.ReverseFrame_Ping{Ping: &waymark.ReversePing{}}})
		}
	}
}

func (c *Channel) maxReceive() int { return maxFrame(c.opts.Agent) }
func (c *Channel) maxSend() int    { return maxFrame(!c.opts.Agent) }

func maxFrame(toAgent bool) int {
	if toAgent {
		return MaxToAgent
	}
	return MaxToHub
}

// encoding encodes frames of at most limit bytes.
type encoding struct{ limit int }

// Marshal implements drpc.Encoding.
func (e encoding) Marshal(message drpc.Message) ([]byte, error) {
	frame, ok := message.(*waymark.ReverseFrame)
	if !ok {
		return nil, fmt.Errorf("can't send a %T", message)
	}
	if proto.Size(frame) > e.limit {
		return nil, e.tooLarge()
	}
	return proto.Marshal(frame)
}

// Unmarshal implements drpc.Encoding.
func (e encoding) Unmarshal(data []byte, message drpc.Message) error {
	frame, ok := message.(*waymark.ReverseFrame)
	switch {
	case !ok:
		return fmt.Errorf("can't receive a %T", message)
	case len(data) > e.limit:
		return e.tooLarge()
	case proto.Unmarshal(data, frame) != nil:
		return &ruleError{"what came isn't a frame"}
	}
	return nil
}

func (e encoding) tooLarge() error {
	return drpcerr.WithCode(&ruleError{fmt.Sprintf("a frame has more than %d bytes", e.limit)}, wire.CodeTooLarge)
}
