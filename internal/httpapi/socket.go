package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/coder/websocket"

	"waymark/internal/httpapi/problem"
	"waymark/internal/text"
)

// Upgrade makes a WebSocket of the call. It has no deadlines but those of the
// contexts it is used with, takes messages of at most Route.MaxBody bytes, and is
// closed when the handler returns: with StatusNormalClosure, StatusGoingAway
// where the server stops, or StatusInternalError and the message of the handler's
// error. The call's context ends when the server stops, but not when the peer
// goes: that shows in Read. A read or write under that context cuts the connection when
// it ends, so that the peer isn't told why: use context.WithoutCancel of it.
//
// # Errors
//
// A *problem.Error, which the handler returns, when the request isn't a proper
// handshake, or comes from a page of another origin.
func (c *Call) Upgrade() (*websocket.Conn, error) {
	handshake := &handshakeWriter{answerWriter: &c.w}
	socket, err := websocket.Accept(handshake, c.Request, nil) // no compression: a few bytes could become a flood
	if err != nil {
		if handshake.code == 0 { // the connection broke after the switch
			return nil, err
		}
		return nil, &problem.Error{Code: handshake.code, Message: "no WebSocket was opened", Detail: strings.TrimSpace(handshake.text)}
	}
	socket.SetReadLimit(c.limit)
	c.socket = socket
	return socket, nil
}

// handshakeWriter keeps a refusal of the WebSocket library, which is plain text,
// from being sent.
type handshakeWriter struct {
	*answerWriter
	code int
	text string
}

// WriteHeader implements http.ResponseWriter.
func (w *handshakeWriter) WriteHeader(code int) {
	if code != http.StatusSwitchingProtocols {
		w.code = code
		return
	}
	w.answerWriter.WriteHeader(code)
}

// Write implements io.Writer.
func (w *handshakeWriter) Write(p []byte) (int, error) {
	w.text += string(p)
	return len(p), nil
}

// maxReason is what a close frame has room for.
const maxReason = 123

// closeSocket ends a WebSocket whose handler has returned err.
func (rt *Router) closeSocket(c *Call, err error) {
	code, reason := websocket.StatusNormalClosure, ""
	switch {
	case errors.Is(context.Cause(c.Context()), ErrStopping):
		code, reason = websocket.StatusGoingAway, ErrStopping.Error()
	case err != nil:
		code = websocket.StatusInternalError
		reason = text.Truncate(rt.problem(c, err).Message, maxReason)
	}
	_ = c.socket.Close(code, reason) // the peer may have gone
}
