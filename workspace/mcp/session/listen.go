package session

import (
	"context"
	"log/slog"
	"strconv"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"waymark/internal/await"
)

// listener is a subscription to changes (subscriptions/listen, since 2026-07-28).
type listener struct {
	request *jsonrpc.Request
	tries   int
	pause   time.Duration
	since   time.Time
}

// listenGrace is how long listing tools waits for the subscription.
const listenGrace = 250 * time.Millisecond

// listens records that a subscription has been requested. Tools may change before the
// server confirms it. So listing tools waits for that a little, and the list is fetched
// again if it didn't wait long enough.
func (t *tap) listens() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.listening == nil {
		t.listening = make(chan struct{})
	}
}

// heard records that the server has confirmed or refused the subscription.
func (t *tap) heard(tells bool) {
	t.mu.Lock()
	if t.listening != nil && !t.settled {
		t.settled = true
		close(t.listening)
	}
	listed := t.listed
	t.mu.Unlock()
	if tells && listed {
		t.toolsChanged() // they may have changed meanwhile
	}
}

// awaitHeard waits until heard is called.
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

// subscribe sends a subscription, and returns at once: over HTTP the answer begins when the
// server has something to report.
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
		write = t.inner.Write // over HTTP it is a separate request, whose failure affects nothing else
	}
	if err := write(t.ctx, req); err != nil && t.ctx.Err() == nil {
		t.opts.Logger.Debug("an MCP server doesn't take a subscription to its changes", slog.Any("error", err))
		t.listenEnded()
	}
}

// maxSubscriptions is how often in a row a short subscription is renewed.
const maxSubscriptions = 8

// lasting is the minimum duration of a subscription that counts as working. Proxies end
// them after about a minute.
const lasting = 20 * time.Second

// listenEnded renews a subscription that the server or a proxy has ended, and fetches what
// may have changed meanwhile.
func (t *tap) listenEnded() {
	t.heard(false)
	t.mu.Lock()
	l := &t.listener
	if time.Since(l.since) >= lasting {
		l.tries, l.pause = 0, 0
	}
	l.tries++
	l.pause = await.After(l.pause, time.Second, time.Minute)
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
