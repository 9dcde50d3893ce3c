package hub

import (
	"context"
	"net"
	"sync"

	"github.com/coder/websocket"
	"github.com/hashicorp/yamux"
)

// maxFrame bounds a WebSocket message. DRPC over yamux writes at most 64 KiB
// at once; a stream's window, 256 KiB, is what another agent could.
const maxFrame = 1 << 20

// serveWebSocket serves the DRPC services to an agent that has shown its
// token, each call on a yamux stream of its own, and closes the connection.
// It returns when the peer hangs up or ctx ends, with the rule that the peer
// broke, if it did. socket is the connection below the WebSocket.
func (h *Hub) serveWebSocket(ctx context.Context, ws *websocket.Conn, socket net.Conn, newCalls func() *calls) error {
	conn := websocket.NetConn(context.WithoutCancel(ctx), ws, websocket.MessageBinary)
	ws.SetReadLimit(maxFrame) // NetConn has just taken the limit away
	g := newGuard(conn, ws, socket, &h.limits)
	mux, err := yamux.Server(g, h.muxConfig())
	if err != nil { // the configuration is wrong
		_ = g.Close()
		return err
	}
	g.guard(mux.NumStreams)
	h.serveStreams(ctx, mux, newCalls)
	// Only the first cause counts: the peer's end, or ours.
	g.end(context.Cause(ctx))
	_ = mux.Close() // and with it the WebSocket
	return g.violation()
}

// muxConfig is what Coder's server uses, but for what is bounded here.
func (h *Hub) muxConfig() *yamux.Config {
	config := yamux.DefaultConfig()
	config.AcceptBacklog = h.limits.Streams
	config.KeepAliveInterval = h.limits.Ping
	config.ConnectionWriteTimeout = h.limits.Write
	// A stream that the peer doesn't close after the answer.
	config.StreamCloseTimeout = h.limits.Write
	config.LogOutput, config.Logger = nil, silent{}
	return config
}

// serveStreams serves the streams that the peer opens, at most Limits.Streams
// at a time, until the session or ctx ends. None is left then.
func (h *Hub) serveStreams(ctx context.Context, mux *yamux.Session, newCalls func() *calls) {
	ctx, cancel := context.WithCancel(ctx)
	var streams sync.WaitGroup
	defer streams.Wait()
	defer cancel() // before the wait: deferred calls run backwards
	places := make(chan struct{}, h.limits.Streams)
	for {
		select {
		case places <- struct{}{}:
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
			defer func() { <-places }()
			c := newCalls()
			c.intake = newIntake(stream, &h.limits, h.large, h.limits.Read)
			c.session.enter()
			defer c.session.leave(0) // the peer has closed the stream: it has its answer
			h.serveCalls(ctx, c)
		})
	}
}

// silent is a logger for yamux, whose lines say nothing that its errors don't.
type silent struct{}

func (silent) Print(...any)          {}
func (silent) Printf(string, ...any) {}
func (silent) Println(...any)        {}
