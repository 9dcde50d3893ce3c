package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"waymark/internal/defaults"
	"waymark/internal/text"
	"waymark/workspace/mcp/catalog"
)

// Fallback is the protocol version for servers that don't answer server/discover; see
// ErrDiscover.
const Fallback = "2025-11-25"

// Options configure a session. Zero means the default.
type Options struct {
	// Timeout limits connecting, including the initialization. Default
	// defaults.MCPConnectTimeout.
	Timeout time.Duration
	// Protocol is the version that the server is known to speak, from an earlier
	// Session.Protocol. If it is empty, the server is asked, and Stdio may return
	// ErrDiscover.
	Protocol string
	Caps     Caps
	// Noise receives lines on the server's standard output that aren't messages, without
	// newline and cut to 4 KiB. The callee owns the slice. The reading goroutine calls it.
	// It may block to slow down a flood, but must not wait for the session.
	Noise func(line []byte)
	// Log receives the server's log messages: a level of the protocol, and the data, whose
	// text LogText returns. It is called like Noise.
	Log func(level string, data json.RawMessage)
	// Asks are what the server is told that it may ask, of agentapi.MCPAsks. Everything else that
	// it asks is refused.
	Asks []string
	// OAuth has the tokens for servers over HTTP; it may be nil. It isn't used if the
	// header has an Authorization.
	OAuth *OAuth
	// Logger receives problems that no error reports, at debug level.
	Logger *slog.Logger
}

// Caps limit what a server may send. Zero means the default.
type Caps struct {
	// Tools, Bytes, Schema and Depth limit the catalogue; see catalog.Limits.
	Tools  int
	Bytes  int64
	Schema int64
	Depth  int
	// Pages limits the pages of tools. Default 100.
	Pages int
	// Line limits a message, and a line on standard output, in bytes. A longer one fails the
	// call that it answers; it ends the session if it answers none. Default 16 MiB.
	Line int
}

const (
	defaultPages = 100
	defaultLine  = 16 << 20
)

func (o Options) orDefaults() Options {
	o.Caps = defaults.Or(o.Caps, Caps{Pages: defaultPages, Line: defaultLine})
	return defaults.Or(o, Options{
		Timeout: defaults.MCPConnectTimeout, Noise: func([]byte) {}, Log: func(string, json.RawMessage) {}, Logger: slog.New(slog.DiscardHandler),
	})
}

func (c Caps) limits() catalog.Limits {
	return catalog.Limits{Tools: c.Tools, Bytes: c.Bytes, Schema: c.Schema, Depth: c.Depth}
}

var (
	// ErrDiscover says that a server on standard streams hasn't answered server/discover,
	// because it ignores unknown methods. Start its process again with Options.Protocol set
	// to Fallback.
	ErrDiscover = errors.New("the server doesn't answer server/discover: start it again with the protocol " + Fallback)
	// ErrNeedsAuthorization says that a server over HTTP requires a sign-in.
	ErrNeedsAuthorization = errors.New("the server wants to be signed in to")
	// ErrSessionLost says that a server over HTTP no longer knows the session, for example
	// because it was restarted. It hasn't done what was asked, and the session has ended.
	ErrSessionLost = errors.New("the server no longer knows the session")
	// ErrClosed says that the session has ended.
	ErrClosed = errors.New("the connection with the server has ended")
	// ErrHungUp says, in addition to ErrClosed, that the server has ended the session for
	// an unknown reason.
	ErrHungUp = errors.New("the server has closed it")
)

// ServerError is a server's error response.
type ServerError struct {
	// Code is the JSON-RPC error code.
	Code int64
	// Message is the server's text: one line of at most 2 KiB.
	Message string
	// Data is what the server adds to it; nil if it adds nothing, or more than 64 KiB. The
	// error's text has one line of it, of at most 2 KiB.
	Data json.RawMessage
	// Raw is the error as the server has sent it, with code, message and data, up to 64 KiB;
	// nil if it is longer.
	Raw json.RawMessage
}

// Error returns the server's code and message.
func (e *ServerError) Error() string {
	said := fmt.Sprintf("the server answers with an error (%d): %s", e.Code, e.Message)
	if e.Data != nil {
		said += "; its data: " + text.Line(strings.TrimSpace(string(e.Data)), maxErrorText)
	}
	return said
}

const (
	maxErrorText = 2 << 10
	maxRawError  = 64 << 10
)

// rejected is what the SDK wraps around errors that fail a call and not the session. It
// looks like a server's response and isn't exported.
const (
	rejected     = "rejected by transport"
	rejectedCode = -32005
)

// isOurs reports whether an error that looks like a server's response comes from the SDK,
// which also uses such errors for calls in progress when a connection ends.
func isOurs(err *jsonrpc.Error) bool {
	switch err.Message {
	case rejected:
		return err.Code == rejectedCode
	case "server is closing":
		return err.Code == rejectedCode+1
	case "client is closing":
		return err.Code == rejectedCode+2
	}
	return false
}

func isRejection(err error) bool {
	switch err := err.(type) { //nolint:errorlint // this is what looks into errors
	case *jsonrpc.Error:
		return err.Code == rejectedCode && err.Message == rejected
	case interface{ Unwrap() error }:
		return isRejection(err.Unwrap())
	case interface{ Unwrap() []error }:
		return slices.ContainsFunc(err.Unwrap(), isRejection)
	}
	return false
}

// inWords describes an error of the SDK: the server's response, or the failure on the way
// to it. It omits addresses, which may contain secrets.
func inWords(err error) error {
	var (
		wire *jsonrpc.Error
		way  *url.Error
	)
	switch {
	case errors.As(err, &way):
		return bounded(fmt.Errorf("ask the server: %w", way.Err))
	case errors.As(err, &wire) && isTooLong(wire):
		return bounded(errors.New(wire.Message))
	case errors.As(err, &wire) && !isOurs(wire):
		said := &ServerError{Code: wire.Code, Message: text.Line(wire.Message, maxErrorText)}
		if raw, err := json.Marshal(wire); err == nil && len(raw) <= maxRawError {
			said.Raw = raw
			if len(wire.Data) > 0 && string(wire.Data) != "null" {
				said.Data = wire.Data
			}
		}
		return said
	case isRejection(err):
		words := strings.TrimSuffix(strings.ReplaceAll(err.Error(), rejected+": ", ""), ": "+rejected)
		return bounded(&boundedError{text: words, err: err})
	}
	return bounded(err)
}

// boundedError is an error whose text is one line of limited length, because parts may come
// from a server.
type boundedError struct {
	text string
	err  error
}

func (e *boundedError) Error() string { return e.text }

func (e *boundedError) Unwrap() error { return e.err }

func bounded(err error) error {
	if err == nil || len(err.Error()) <= maxErrorText && text.Printable(err.Error()) == err.Error() {
		return err
	}
	return &boundedError{text: text.Line(err.Error(), maxErrorText), err: err}
}
