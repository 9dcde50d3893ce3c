package push_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/hashicorp/yamux"
	"storj.io/drpc/drpcwire"

	"waymark/host/push"
)

// closeCall ends the call on a connection as DRPC lets a peer do: without an
// answer and without an error, and the connection stays.
func closeCall(conn net.Conn) {
	packet, err := drpcwire.NewReader(conn).ReadPacket()
	if err != nil {
		return
	}
	closes := drpcwire.Frame{ID: drpcwire.ID{Stream: packet.ID.Stream, Message: 1}, Kind: drpcwire.KindClose, Done: true}
	_, _ = conn.Write(drpcwire.AppendFrame(nil, closes))
	_, _ = io.Copy(io.Discard, conn)
}

// TestHostileServer: whatever a server does, the pusher notices, says so and
// tries again later.
func TestHostileServer(t *testing.T) {
	// A server does what it does until the test at hand is over.
	type server func(w http.ResponseWriter, r *http.Request, over <-chan struct{})
	accept := func(f func(ctx context.Context, ws *websocket.Conn)) server {
		return func(w http.ResponseWriter, r *http.Request, over <-chan struct{}) {
			ws, err := websocket.Accept(w, r, nil)
			if err != nil {
				t.Error(err)
				return
			}
			f(r.Context(), ws)
			<-over
			_ = ws.CloseNow()
		}
	}
	mux := func(ws *websocket.Conn) *yamux.Session {
		config := yamux.DefaultConfig()
		config.LogOutput = io.Discard
		session, err := yamux.Server(websocket.NetConn(context.Background(), ws, websocket.MessageBinary), config)
		if err != nil {
			t.Error(err)
		}
		return session
	}
	for name, tc := range map[string]struct {
		server server
		text   string // of the error; empty: any
	}{
		"hangs in the handshake": {func(_ http.ResponseWriter, _ *http.Request, over <-chan struct{}) { <-over }, "no connection within 100ms"},
		"an endless header": {func(w http.ResponseWriter, _ *http.Request, _ <-chan struct{}) {
			w.Header().Set("X", strings.Repeat("x", 100<<10))
			w.WriteHeader(101)
		}, "exceeded"},
		"garbage": {accept(func(ctx context.Context, ws *websocket.Conn) {
			_ = ws.Write(ctx, websocket.MessageBinary, bytes.Repeat([]byte{0xff}, 1000))
		}), ""},
		"silent":     {accept(func(context.Context, *websocket.Conn) {}), "no answer within 100ms"},
		"no streams": {accept(func(_ context.Context, ws *websocket.Conn) { mux(ws) }), "no answer within 100ms"},
		"goes away":  {accept(func(_ context.Context, ws *websocket.Conn) { _ = mux(ws).GoAway() }), ""},
		"closes each call": {accept(func(_ context.Context, ws *websocket.Conn) {
			session := mux(ws)
			for {
				stream, err := session.Accept()
				if err != nil {
					return
				}
				go closeCall(stream)
			}
		}), "dropped the call without an answer"},
		"floods": {accept(func(ctx context.Context, ws *websocket.Conn) {
			session := mux(ws)
			for range 1000 { // none is accepted, most are refused
				stream, err := session.Open()
				if err != nil {
					return
				}
				go func() { _, _ = stream.Write(make([]byte, 1<<20)) }()
			}
		}), ""},
	} {
		t.Run(name, func(t *testing.T) {
			over := make(chan struct{})
			opts := refusing(t, func(w http.ResponseWriter, r *http.Request) { tc.server(w, r, over) })
			t.Cleanup(func() { close(over) })
			// Only who waits in vain waits for a short time.
			opts.DialTimeout, opts.CallTimeout = time.Hour, 100*time.Millisecond
			switch {
			case strings.Contains(tc.text, "no connection"):
				opts.DialTimeout = 100 * time.Millisecond
			case strings.Contains(tc.text, "dropped"):
				opts.CallTimeout = time.Hour
			}
			opts.MinBackoff, opts.MaxBackoff = time.Hour, time.Hour
			pusher := run(t, opts)
			pusher.Publish(snap(1, "/a"))
			status := state(t, pusher, push.StateBackingOff)
			if status.LastError == "" || !strings.Contains(status.LastError, tc.text) {
				t.Errorf("error is %q, want %q", status.LastError, tc.text)
			}
		})
	}
}
