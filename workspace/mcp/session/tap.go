package session

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"waymark/agentapi"
	"waymark/internal/await"
	"waymark/internal/text"
	"waymark/workspace/mcp/catalog"
)

// Methods that the tap handles.
const (
	methodDiscover  = "server/discover"
	methodListen    = "subscriptions/listen"
	methodPing      = "ping"
	methodListTools = "tools/list"

	noteCancelled    = "notifications/cancelled"
	noteProgress     = "notifications/progress"
	noteLog          = "notifications/message"
	noteToolsChanged = "notifications/tools/list_changed"
	noteAcknowledged = "notifications/subscriptions/acknowledged"
)

// tap sits between the SDK and a transport. The SDK matches responses to calls and
// negotiates the protocol. The tap handles what a server sends on its own, sequentially and
// in order, because the SDK would queue it without a limit.
//
//   - Requests of the server are answered here: ping, roots/list with an empty list, and
//     all others with an error, unless Options.Asks lets the server ask its only caller.
//   - Notifications end here. Progress reaches its call before the call's result does.
//   - Results of calls with a taker pass through it, so that the SDK sees only what it needs.
//   - A Write ends with its context even if the server doesn't read.
type tap struct {
	opts Options
	// ctx ends with the connection.
	ctx    context.Context
	cancel context.CancelFunc
	// hangUp, if not nil, closes the server's input.
	hangUp  func()
	changed await.Wake

	discovered chan struct{} // closed when server/discover has been answered
	alive      chan struct{} // closed when the server has sent anything
	once       struct{ discovered, alive sync.Once }

	jobs    chan *writeJob // for transports whose Write may block forever; nil for others
	answers chan jsonrpc.Message
	wait    sync.WaitGroup

	inner mcp.Connection // set under mu by Connect, before the SDK has the tap

	mu       sync.Mutex // guards the fields below
	takers   map[jsonrpc.ID]taker
	calls    map[jsonrpc.ID]context.Context // contexts of requests without a response
	progress map[string]*progress
	callers  map[*Call]*caller
	discover jsonrpc.ID // id of server/discover
	listener listener
	// listening, if not nil, is closed when the server has confirmed or refused the
	// subscription; then settled is true. listed says that tools have been listed.
	listening       chan struct{}
	settled, listed bool
	err             error
	done            chan struct{} // closed when err is set
}

// taker handles the result of a call before the SDK does, and returns what the SDK may see.
type taker func(result json.RawMessage) json.RawMessage

type takerKey struct{}

func withTaker(ctx context.Context, take taker) context.Context {
	return context.WithValue(ctx, takerKey{}, take)
}

// maxAnswers limits the queued answers. A server that sends requests without reading
// answers loses the session.
const maxAnswers = 256

// tapTransport connects the SDK through a tap.
type tapTransport struct {
	inner mcp.Transport
	tap   *tap
	// queued says that a Write of inner may block forever.
	queued bool
}

// Connect implements mcp.Transport.
func (t *tapTransport) Connect(ctx context.Context) (mcp.Connection, error) {
	inner, err := t.inner.Connect(ctx)
	if err != nil {
		return nil, err
	}
	t.tap.mu.Lock()
	t.tap.inner = inner
	ended := t.tap.err
	t.tap.mu.Unlock()
	if ended != nil {
		_ = inner.Close()
		return nil, ended
	}
	if t.queued {
		t.tap.jobs = make(chan *writeJob)
		t.tap.run(t.tap.writeAll)
	}
	t.tap.run(t.tap.answerAll)
	return t.tap, nil
}

func newTap(ctx context.Context, opts Options) *tap {
	// ctx is for connecting only; the session continues after it.
	ctx, cancel := context.WithCancel(reporting(context.WithoutCancel(ctx), new(report)))
	return &tap{
		opts: opts, ctx: ctx, cancel: cancel,
		changed:    await.NewWake(),
		discovered: make(chan struct{}), alive: make(chan struct{}),
		answers:  make(chan jsonrpc.Message, maxAnswers),
		takers:   make(map[jsonrpc.ID]taker),
		calls:    make(map[jsonrpc.ID]context.Context),
		progress: make(map[string]*progress),
		callers:  make(map[*Call]*caller),
		done:     make(chan struct{}),
	}
}

// SessionID implements mcp.Connection.
func (t *tap) SessionID() string { return t.inner.SessionID() }

// Close implements mcp.Connection.
func (t *tap) Close() error { return t.end(ErrClosed) }

// end closes everything, once. err is the reason.
func (t *tap) end(err error) error {
	t.mu.Lock()
	ended, inner := t.err != nil, t.inner
	if !ended {
		t.err = err
		close(t.done)
	}
	t.mu.Unlock()
	if ended {
		return nil //nolint:nilerr // the first reason is the one
	}
	t.cancel()
	if t.hangUp != nil {
		t.hangUp() // first, so that the server notices
	}
	if inner == nil {
		return nil
	}
	return inner.Close()
}

// why returns why the connection has ended; nil while it hasn't.
func (t *tap) why() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

// Read implements mcp.Connection. It returns messages for the SDK.
func (t *tap) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		msg, err := t.inner.Read(ctx)
		if err != nil {
			t.fail(err)
			return nil, err
		}
		t.lives()
		switch msg := msg.(type) {
		case *jsonrpc.Response:
			if t.response(msg) {
				return msg, nil
			}
		case *jsonrpc.Request:
			if !msg.IsCall() {
				t.notified(msg)
			} else if !t.answer(msg) {
				err := errors.New("the server asks without reading the answers")
				_ = t.end(err)
				return nil, err
			}
		}
	}
}

// lives records that the server has sent something.
func (t *tap) lives() { t.once.alive.Do(func() { close(t.alive) }) }

// run starts a goroutine that ends with the connection. It does nothing if that has ended.
func (t *tap) run(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil {
		t.wait.Go(f)
	}
}

// fail ends the connection because of a failed read or write.
func (t *tap) fail(err error) {
	if isHungUp(err) {
		err = fmt.Errorf("%w: %w", ErrClosed, ErrHungUp)
	} else if !errors.Is(err, ErrClosed) {
		err = bounded(fmt.Errorf("%w: %w", ErrClosed, inWords(err)))
	}
	_ = t.end(err)
}

// isHungUp reports whether an error means that the other end is closed.
func isHungUp(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, os.ErrClosed) || errors.Is(err, syscall.EPIPE)
}

// response passes a result through its taker, and reports whether the message is for the
// SDK.
func (t *tap) response(msg *jsonrpc.Response) bool {
	if id, ok := msg.ID.Raw().(string); ok && strings.HasPrefix(id, ownID) {
		if strings.HasPrefix(id, ownListen) {
			t.listenEnded()
		}
		return false
	}
	t.mu.Lock()
	take, ctx := t.takers[msg.ID], t.calls[msg.ID]
	delete(t.takers, msg.ID)
	delete(t.calls, msg.ID)
	discovered := msg.ID == t.discover
	listened := t.listener.request != nil && t.listener.request.ID == msg.ID
	t.mu.Unlock()
	if discovered {
		t.once.discovered.Do(func() { close(t.discovered) })
	}
	if listened {
		t.listenEnded()
	}
	if ctx != nil && msg.Error != nil && !errors.Is(reported(ctx, nil), errEndless) {
		// Record it, because the SDK loses it if the connection ends right afterwards.
		note(ctx, inWords(msg.Error))
	}
	if take != nil && msg.Error == nil {
		msg.Result = take(msg.Result)
	}
	return true
}

// notified handles a notification. The SDK gets none: it would only drop cached lists,
// whose keys are different for each request anyway.
func (t *tap) notified(msg *jsonrpc.Request) {
	switch msg.Method {
	case noteToolsChanged:
		t.toolsChanged()
	case noteAcknowledged:
		t.heard(true)
	case noteProgress:
		var params struct {
			Token json.RawMessage `json:"progressToken"`
			Progress
		}
		if json.Unmarshal(msg.Params, &params) != nil {
			return
		}
		t.mu.Lock()
		p := t.progress[string(bytes.Trim(params.Token, `"`))]
		t.mu.Unlock()
		if p != nil {
			params.Message = text.Cut(strings.ToValidUTF8(params.Message, "\uFFFD"), maxProgressText)
			p.add(params.Progress)
		}
	case noteLog:
		var params struct {
			Level  string          `json:"level"`
			Logger string          `json:"logger"`
			Data   json.RawMessage `json:"data"`
		}
		if json.Unmarshal(msg.Params, &params) != nil {
			return
		}
		t.opts.Log(level(params.Level), params.Data)
		if one := t.only(); one != nil && one.call.Log != nil {
			if len(params.Data) > maxLogText {
				params.Data, _ = json.Marshal(LogText(params.Data)) // a string always marshals
			}
			one.call.Log(level(params.Level), text.Line(params.Logger, maxLogger), params.Data)
		}
	}
}

func (t *tap) toolsChanged() {
	t.changed.Set()
}

const (
	maxLogText      = 4 << 10
	maxLogger       = 128
	maxProgressText = 1 << 10
)

// level checks a log level of the protocol.
func level(s string) string {
	switch s {
	case "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency":
		return s
	}
	return "info"
}

// LogText returns the text of a log message, at most 4 KiB; of anything but a string the
// JSON.
func LogText(data json.RawMessage) string {
	var s string
	if json.Unmarshal(data, &s) != nil {
		s = string(data)
	}
	if len(s) > maxLogText {
		s = s[:maxLogText+4] // Cut marks the cut
	}
	return text.Cut(strings.ToValidUTF8(s, "\uFFFD"), maxLogText)
}

// answer queues the answer to a request of the server. It returns false if the server
// doesn't read answers.
func (t *tap) answer(msg *jsonrpc.Request) bool {
	answer := &jsonrpc.Response{ID: msg.ID}
	if one := t.only(); one != nil && t.mayAsk(one.call, msg.Method, msg.Params) {
		t.run(func() {
			result, err := t.ask(one.ctx, one.call, msg.Method, msg.Params)
			if answer.Result = result; err != nil {
				answer.Error = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: text.Line(err.Error(), maxErrorText)}
			}
			select {
			case t.answers <- answer:
			case <-t.ctx.Done():
			}
		})
		return true
	}
	switch msg.Method {
	case methodPing:
		answer.Result = json.RawMessage("{}")
	case agentapi.MCPListRoots:
		if slices.Contains(t.opts.Asks, agentapi.MCPAskRoots) { // an empty list would be kept for the calls
			answer.Error = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "roots are those of the caller of a tool: ask during its call"}
			break
		}
		answer.Result = json.RawMessage(`{"roots":[]}`)
	default:
		answer.Error = &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "this client doesn't offer " + text.Line(msg.Method, 100)}
	}
	select {
	case t.answers <- answer:
		return true
	default:
		return false
	}
}

// caller is a call in progress.
type caller struct {
	call *Call
	ctx  context.Context //nolint:containedctx // it ends with the call
	asks int             // what the server is asking
}

// calling records a call until ended is called.
func (t *tap) calling(ctx context.Context, call *Call) (ended func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.callers[call] = &caller{call: call, ctx: ctx}
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.callers, call)
	}
}

// only returns the only call in progress; nil if there is none or another. What a server sends
// on its own has no sign of the call that it is about, and mustn't reach somebody else's.
func (t *tap) only() *caller {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, one := range t.callers {
		if len(t.callers) == 1 {
			return one
		}
	}
	return nil
}

// maxAsks limits what a server asks at the same time, and what it may ask with, in bytes.
const (
	maxAsks = 8
	maxAsk  = 256 << 10
)

// mayAsk reports whether a server may ask something of the caller of a call.
func (t *tap) mayAsk(call *Call, method string, params json.RawMessage) bool {
	ask := catalog.AskOf(method, params)
	return slices.Contains(t.opts.Asks, ask) && slices.Contains(call.Asks, ask)
}

// ask passes what a server asks on to the caller.
func (t *tap) ask(ctx context.Context, call *Call, method string, params json.RawMessage) (json.RawMessage, error) {
	t.mu.Lock()
	one := t.callers[call]
	allowed := one != nil && one.asks < maxAsks && len(params) <= maxAsk && t.mayAsk(call, method, params)
	if allowed {
		one.asks++
	}
	t.mu.Unlock()
	if !allowed {
		return nil, fmt.Errorf("this client doesn't offer %s for this call", text.Line(method, 100))
	}
	defer func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		one.asks--
	}()
	return call.Ask(ctx, method, params)
}

// answerAll sends queued answers.
func (t *tap) answerAll() {
	for {
		select {
		case <-t.ctx.Done():
			return
		case msg := <-t.answers:
			// If the server doesn't accept an answer, only the server is affected.
			if err := t.write(quietly(t.ctx, ""), msg); err != nil {
				t.opts.Logger.Debug("an MCP server doesn't take an answer", slog.Any("error", err))
			}
		}
	}
}

// Write implements mcp.Connection.
func (t *tap) Write(ctx context.Context, msg jsonrpc.Message) error {
	if err := t.why(); err != nil {
		return err
	}
	req, ok := msg.(*jsonrpc.Request)
	if !ok {
		return t.write(ctx, msg)
	}
	switch req.Method {
	case methodListen:
		t.subscribe(req)
		return nil
	case methodDiscover:
		t.mu.Lock()
		t.discover = req.ID
		t.mu.Unlock()
		return t.writeDiscover(ctx, msg)
	case noteCancelled:
		// Over HTTP, a server that has forgotten the call responds with an error, which
		// must not end the session.
		return t.write(quietly(ctx, req.Method), msg)
	}
	if req.IsCall() {
		t.expect(ctx, req.ID)
	}
	if req.Method == methodListTools {
		t.mu.Lock()
		t.listed = true
		t.mu.Unlock()
	}
	if c, ok := ctx.Value(cursorKey{}).(string); ok {
		req = withCursor(req, c)
	}
	return t.write(ctx, req)
}

// expect records how to handle the response to a request until its context ends.
func (t *tap) expect(ctx context.Context, id jsonrpc.ID) {
	note(ctx, nil)
	t.mu.Lock()
	t.calls[id] = ctx
	if take, ok := ctx.Value(takerKey{}).(taker); ok {
		t.takers[id] = take
	}
	t.mu.Unlock()
	context.AfterFunc(ctx, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.takers, id)
		delete(t.calls, id)
	})
}

// writeDiscover writes server/discover, which not every server can handle.
func (t *tap) writeDiscover(ctx context.Context, msg jsonrpc.Message) error {
	if t.jobs != nil {
		return t.write(ctx, msg)
	}
	err := t.inner.Write(ctx, msg)
	switch {
	case errors.Is(err, ErrNeedsAuthorization):
		// Otherwise the SDK would try initialize, which the server refuses for a different
		// reason.
		_ = t.end(ErrNeedsAuthorization)
	case err != nil && ctx.Err() == nil && !isRejection(err):
		_ = t.end(ErrDiscover) // a web page, for example: the SDK gives up the connection
	}
	return err
}

// writeJob is a queued message.
type writeJob struct {
	ctx  context.Context
	msg  jsonrpc.Message
	done chan error // has capacity 1
}

// write writes a message. It returns when its context ends, even if the write blocks.
func (t *tap) write(ctx context.Context, msg jsonrpc.Message) error {
	if t.jobs == nil {
		err := t.inner.Write(ctx, msg)
		if err != nil && ctx.Err() == nil && !isRejection(err) {
			t.fail(reported(ctx, err)) // the SDK gives up the connection and loses the reason
		}
		return err
	}
	job := &writeJob{ctx: ctx, msg: msg, done: make(chan error, 1)}
	select {
	case t.jobs <- job:
	case <-ctx.Done():
		return ctx.Err()
	case <-t.ctx.Done():
		return ErrClosed
	}
	select {
	case err := <-job.done:
		return err
	case <-ctx.Done():
		return ctx.Err() // the write goes on, because half a line would break the connection
	case <-t.ctx.Done():
		return ErrClosed
	}
}

// lastWords is how long a server that reads no more is listened to.
const lastWords = time.Second

func (t *tap) writeAll() {
	for {
		select {
		case <-t.ctx.Done():
			return
		case job := <-t.jobs:
			err := t.inner.Write(job.ctx, job.msg)
			if err != nil && job.ctx.Err() == nil {
				if isHungUp(err) { // what it has written before comes first: reading it ends the connection
					t.without(lastWords, nil)
				}
				t.fail(err)
			}
			job.done <- err
		}
	}
}

// Ids of the tap's own requests.
const (
	ownID     = "waymark-"
	ownPing   = ownID + "ping"
	ownListen = ownID + "listen-"
)

// Time limits for the response to server/discover. A server that has sent nothing yet may
// still be starting (npx takes 8 s the first time), and has more time.
const (
	discoverAfter = 2500 * time.Millisecond
	discoverGrace = time.Second
	discoverStart = 10 * time.Second
)

// watchDiscover ends the connection with ErrDiscover if the server doesn't answer
// server/discover. A server that has answered a ping, which all protocol versions allow
// before anything else, or has written anything, is running and gets discoverGrace. Any
// other may still be starting and gets discoverStart.
func (t *tap) watchDiscover() {
	if !t.without(discoverAfter, t.discovered) {
		return
	}
	id, _ := jsonrpc.MakeID(ownPing)
	select {
	case t.answers <- &jsonrpc.Request{ID: id, Method: methodPing}:
	default:
	}
	timer := time.NewTimer(discoverStart - discoverAfter)
	defer timer.Stop()
	select {
	case <-t.alive:
		// It may answer out of order.
		if !t.without(discoverGrace, t.discovered) {
			return
		}
	case <-timer.C:
	case <-t.discovered:
		return
	case <-t.ctx.Done():
		return
	}
	_ = t.end(ErrDiscover)
}

// waitDiscover is watchDiscover for HTTP, where no process must be restarted and requests
// are independent.
func (t *tap) waitDiscover() {
	if t.without(discoverStart, t.discovered) {
		_ = t.end(ErrDiscover)
	}
}

// without waits, and reports whether d has passed without the signal.
func (t *tap) without(d time.Duration, signal <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-signal:
	case <-t.ctx.Done():
	}
	return false
}
