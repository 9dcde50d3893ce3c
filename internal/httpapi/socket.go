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

// Upgrade makes a WebSocket of the call. It has no deadlines except those of the contexts it
// is used with, and accepts messages of at most Route.MaxBody bytes. It is closed when the
// handler returns: with StatusNormalClosure, with StatusGoingAway if the server stops, or
// with StatusInternalError and the message of the handler's error. The call's context ends
// when the server stops, but not when the peer goes: Read shows that. A read or write under
// that context cuts the connection when the context ends, so that the peer isn't told why;
// use context.WithoutCancel of it.
//
// # Errors
//
// A *problem.Error, which the handler returns, if the request isn't a proper handshake, or
// comes from a page of another origin.
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

// handshakeWriter suppresses a refusal by the WebSocket library, which is plain text.
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
