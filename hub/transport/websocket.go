package transport

import (
	"bufio"
	"context"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"

	"github.com/coder/websocket"
	"github.com/hashicorp/yamux"

	"waymark/wire"
)

// upgrade upgrades the request to a connection of calls, and returns when that has ended.
func (t *Transport) upgrade(w http.ResponseWriter, r *http.Request, owner *client, place *place) {
	// The request's own context ends when the connection is hijacked.
	ctx, end, err := t.begin(context.WithoutCancel(r.Context()))
	if err != nil {
		refuseConnection(w, err)
		return
	}
	defer end()
	release, err := t.takeSlot()
	if err != nil {
		refuseConnection(w, err)
		return
	}
	defer release()
	ctx, drop := context.WithCancelCause(ctx)
	defer drop(nil)
	c := t.newConn(drop)
	defer c.end()
	c.place = place
	if strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		// Determine its place in the order before the agent can send anything, or give up
		// and reconnect.
		beginning, cancel := context.WithCancel(ctx)
		stop := context.AfterFunc(r.Context(), cancel) // whoever has hung up waits no longer
		err := c.session.Begin(beginning, owner.agentID)
		stop()
		cancel()
		switch {
		case err != nil && r.Context().Err() != nil:
			return
		case err != nil:
			t.log.Error("session not begun", slog.String("agent", owner.agentID), slog.Any("error", err))
			refuseInternal(w)
			return
		}
		c.attach(owner)
	}
	place.answered()
	h := &hijacked{ResponseWriter: w}
	ws, err := websocket.Accept(h, r, nil) // no compression: a few bytes could expand to a flood
	if err != nil {
		t.log.Debug("agent not connected", slog.String("agent", owner.agentID), slog.Any("error", err))
		return // it has answered
	}
	token := r.Header.Get(wire.TokenHeader)
	authenticate := func(ctx context.Context) (Peer, error) { return t.services.Authenticate(ctx, token) }
	bad := t.serveWebSocket(ctx, ws, h.socket, func() *calls {
		return &calls{t: t, conn: c, authenticate: authenticate, idle: t.limits.Read}
	})
	if bad != nil {
		t.log.Warn("connection ended", slog.String("agent", owner.agentID), slog.Any("error", bad))
	}
}

// hijacked keeps the connection that a WebSocket hijacks, because the library doesn't
// return it.
type hijacked struct {
	http.ResponseWriter
	socket net.Conn
}

// Hijack implements http.Hijacker.
func (h *hijacked) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	socket, buffers, err := http.NewResponseController(h.ResponseWriter).Hijack()
	h.socket = socket
	return socket, buffers, err
}

// maxFrame limits a WebSocket message. DRPC over yamux writes at most 64 KiB at once; other
// agents may write a stream's window, 256 KiB.
const maxFrame = 1 << 20

// serveWebSocket serves an authenticated agent, with a yamux stream for each call, and
// closes the connection. It returns when the peer disconnects or ctx ends, with the rule
// that the peer violated, if any. socket is the connection below the WebSocket.
func (t *Transport) serveWebSocket(ctx context.Context, ws *websocket.Conn, socket net.Conn, newCalls func() *calls) error {
	conn := websocket.NetConn(context.WithoutCancel(ctx), ws, websocket.MessageBinary)
	ws.SetReadLimit(maxFrame) // NetConn has just removed the limit
	g := newGuard(conn, ws, socket, &t.limits)
	mux, err := yamux.Server(g, t.muxConfig())
	if err != nil { // the configuration is wrong
		_ = g.Close()
		return err
	}
	g.start(mux.NumStreams)
	t.serveStreams(ctx, mux, newCalls)
	// Only the first cause counts: the peer's end, or ours.
	g.end(context.Cause(ctx))
	_ = mux.Close() // closes the WebSocket, too
	return g.violation()
}

// muxConfig is Coder's configuration, except for the limits here.
func (t *Transport) muxConfig() *yamux.Config {
	config := yamux.DefaultConfig()
	config.AcceptBacklog = t.limits.Streams
	config.KeepAliveInterval = t.limits.Ping
	config.ConnectionWriteTimeout = t.limits.Write
	// For a stream that the peer doesn't close after the answer.
	config.StreamCloseTimeout = t.limits.Write
	config.LogOutput, config.Logger = nil, silent{}
	return config
}

// serveStreams serves the peer's streams, at most Limits.Streams at a time, until the
// session or ctx ends. It waits for all of them.
func (t *Transport) serveStreams(ctx context.Context, mux *yamux.Session, newCalls func() *calls) {
	ctx, cancel := context.WithCancel(ctx)
	var streams sync.WaitGroup
	defer streams.Wait()
	defer cancel() // before the wait: deferred calls run in reverse
	slots := make(chan struct{}, t.limits.Streams)
	for {
		select {
		case slots <- struct{}{}:
		case <-mux.CloseChan():
			return
		case <-ctx.Done():
			return
		}
		stream, err := mux.AcceptStreamWithContext(ctx)
		if err != nil {
			return
		}
		streams.Go(func() {
			defer func() { <-slots }()
			c := newCalls()
			c.intake = newIntake(stream, &t.limits, t.large, t.limits.Read)
			c.conn.enter()
			defer c.conn.leave(0) // the peer has closed the stream, so it has its answer
			t.serveCalls(ctx, c)
		})
	}
}

// silent discards the log of yamux, which only repeats the errors that yamux returns.
type silent struct{}

func (silent) Print(...any)          {}
func (silent) Printf(string, ...any) {}
func (silent) Println(...any)        {}
