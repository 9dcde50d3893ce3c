package hub

import (
	"bufio"
	"context"
	"log/slog"
	"net"
	"net/http"
	"strings"

	"github.com/coder/websocket"

	"waymark/wire"
)

// upgrade makes a session of the request, and returns when that has ended.
func (h *Hub) upgrade(w http.ResponseWriter, r *http.Request, who caller) {
	// The request's own context ends when the connection is taken over.
	ctx, end, err := h.begin(context.WithoutCancel(r.Context()))
	if err != nil {
		refuseConnection(w, err)
		return
	}
	defer end()
	leave, err := h.enter()
	if err != nil {
		refuseConnection(w, err)
		return
	}
	defer leave()
	ctx, drop := context.WithCancelCause(ctx)
	defer drop(nil)
	s := h.newSession(drop)
	defer s.end()
	if strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		// Its place in the order is settled before the agent can send
		// anything, or give up and connect anew.
		if _, err := s.state(ctx, h.store, who.agentID); err != nil {
			h.log.Error("session not begun", slog.String("agent", who.agentID), slog.Any("error", err))
			writeJSON(w, http.StatusInternalServerError, refusal{Message: "Internal error.", Detail: "see the hub's log"})
			return
		}
		s.attach(who.holder)
	}
	c := &catcher{ResponseWriter: w}
	ws, err := websocket.Accept(c, r, nil) // no compression: a few bytes could become a flood
	if err != nil {
		h.log.Debug("agent not connected", slog.String("agent", who.agentID), slog.Any("error", err))
		return // it has answered
	}
	token := r.Header.Get(wire.TokenHeader)
	login := func(ctx context.Context) (caller, error) { return h.login(ctx, token) }
	bad := h.serveWebSocket(ctx, ws, c.socket, func() *calls {
		return &calls{hub: h, session: s, login: login, linger: h.limits.Read}
	})
	if bad != nil {
		h.log.Warn("connection ended", slog.String("agent", who.agentID), slog.Any("error", bad))
	}
}

func refuseConnection(w http.ResponseWriter, err error) {
	w.Header().Set("Retry-After", "5")
	writeJSON(w, http.StatusServiceUnavailable, refusal{Message: "The hub takes no more connections.", Detail: err.Error()})
}

// catcher keeps hold of the connection that a WebSocket takes over, which the
// library doesn't give back.
type catcher struct {
	http.ResponseWriter
	socket net.Conn
}

// Hijack implements http.Hijacker.
func (c *catcher) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	socket, buffers, err := http.NewResponseController(c.ResponseWriter).Hijack()
	c.socket = socket
	return socket, buffers, err
}
