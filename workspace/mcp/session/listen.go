package session

import (
	"context"
	"log/slog"
	"strconv"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"waymark/internal/backoff"
)

// listener is a subscription to changes (subscriptions/listen, from 2026-07-28 on).
type listener struct {
	request *jsonrpc.Request
	tries   int
	pause   time.Duration
	since   time.Time
}

// listenGrace is how long the list of tools waits until the server tells of changes. Asked
// for side by side, a tool that was added between the two was lost now and then; not every
// server acknowledges, so the wait is bounded.
const listenGrace = 250 * time.Millisecond

// listens says that the server is being asked to tell of changes. What it is asked for
// meanwhile may have changed before it begins to tell, so that the list of tools waits
// for it a little, and is asked for again where it didn't wait long enough.
func (t *tap) listens() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.listening == nil {
		t.listening = make(chan struct{})
	}
}

// heard says that the server tells of changes from now on, or that it doesn't.
func (t *tap) heard(tells bool) {
	t.mu.Lock()
	if t.listening != nil && !t.settled {
		t.settled = true
		close(t.listening)
	}
	listed := t.listed
	t.mu.Unlock()
	if tells && listed {
		t.toolsChanged() // perhaps, meanwhile
	}
}

// awaitHeard waits for heard.
func (t *tap) awaitHeard(ctx context.Context) {
	t.mu.Lock()
	listening := t.listening
	t.mu.Unlock()
	if listening == nil {
		return
	}
	timer := time.NewTimer(listenGrace)
	defer timer.Stop()
	select {
	case <-listening:
	case <-timer.C:
	case <-ctx.Done():
	case <-t.ctx.Done():
	}
}

// subscribe sends a subscription, and returns at once: over HTTP its answer begins
// when the server has something to say.
func (t *tap) subscribe(req *jsonrpc.Request) {
	t.listens()
	t.mu.Lock()
	t.listener = listener{request: req, since: time.Now()}
	t.mu.Unlock()
	t.run(func() { t.listen(req) })
}

func (t *tap) listen(req *jsonrpc.Request) {
	write := t.write
	if t.jobs == nil {
		write = t.inner.Write // over HTTP it is a request of its own, and its failure nobody else's
	}
	if err := write(t.ctx, req); err != nil && t.ctx.Err() == nil {
		t.opts.Logger.Debug("an MCP server doesn't take a subscription to its changes", slog.Any("error", err))
		t.listenEnded()
	}
}

// maxSubscriptions is how often in a row a subscription is renewed that doesn't last.
const maxSubscriptions = 8

// lasting is how long a subscription lasts that has worked; proxies end them after a
// minute or so.
const lasting = 20 * time.Second

// listenEnded renews a subscription that the server, or something on the way, has
// ended; what has changed meanwhile is asked for.
func (t *tap) listenEnded() {
	t.heard(false)
	t.mu.Lock()
	l := &t.listener
	if time.Since(l.since) >= lasting {
		l.tries, l.pause = 0, 0
	}
	l.tries++
	l.pause = backoff.After(l.pause, time.Second, time.Minute)
	tries, pause, was := l.tries, l.pause, l.request
	t.mu.Unlock()
	if was == nil || tries > maxSubscriptions {
		return
	}
	t.run(func() {
		if !t.without(pause, nil) {
			return
		}
		id, _ := jsonrpc.MakeID(ownListen + strconv.FormatInt(time.Now().UnixNano(), 36))
		again := &jsonrpc.Request{ID: id, Method: was.Method, Params: was.Params}
		t.mu.Lock()
		t.listener.since = time.Now()
		t.mu.Unlock()
		t.toolsChanged()
		t.listen(again)
	})
}
