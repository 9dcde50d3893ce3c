package session

import (
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

// Fallback is the protocol for servers that don't answer what is asked first in newer
// ones; see ErrDiscover.
const Fallback = "2025-11-25"

// Options say how to speak with a server. What is zero has its default.
type Options struct {
	// Timeout bounds connecting, until the server has been initialized:
	// defaults.MCPConnectTimeout.
	Timeout time.Duration
	// Protocol is the version that the server spoke before, as Session.Protocol tells
	// it. Empty asks the server; then Stdio may return ErrDiscover.
	Protocol string
	Caps     Caps
	// Noise is told what the server writes on its standard output beside messages: a
	// line without its end, cut to 4 KiB, which is the callee's. It is called by the
	// goroutine that reads, so that it slows a flood down and mustn't wait for the
	// session.
	Noise func(line []byte)
	// Log is told what the server logs by the protocol: a level of the protocol's and
	// a text of at most 4 KiB. It is called like Noise.
	Log func(level, text string)
	// OAuth has the tokens for servers over HTTP; nil for none. It isn't asked where the
	// header has an Authorization of its own.
	OAuth *OAuth
	// Logger gets what is wrong without being an error of anybody's, at debug level.
	Logger *slog.Logger
}

// Caps bound what a server may send. What is zero has its default.
type Caps struct {
	// Tools, Bytes, Schema and Depth are those of the catalogue; see catalog.Limits.
	Tools  int
	Bytes  int64
	Schema int64
	Depth  int
	// Pages is how many pages of tools are asked for: 100.
	Pages int
	// Line is the length of one message in bytes, and of one line on standard output:
	// 16 MiB. What is longer costs the session.
	Line int
}

const (
	defaultPages = 100
	defaultLine  = 16 << 20
)

func (o Options) orDefaults() Options {
	o.Caps = defaults.Or(o.Caps, Caps{Pages: defaultPages, Line: defaultLine})
	return defaults.Or(o, Options{
		Timeout: defaults.MCPConnectTimeout, Noise: func([]byte) {}, Log: func(string, string) {}, Logger: slog.New(slog.DiscardHandler),
	})
}

func (c Caps) limits() catalog.Limits {
	return catalog.Limits{Tools: c.Tools, Bytes: c.Bytes, Schema: c.Schema, Depth: c.Depth}
}

var (
	// ErrDiscover says that a server on standard streams hasn't answered what is asked
	// first: it ignores methods that it doesn't know. Its process has to be started
	// again, with Options.Protocol set to Fallback.
	ErrDiscover = errors.New("the server doesn't answer server/discover: start it again with the protocol " + Fallback)
	// ErrNeedsAuthorization says that a server over HTTP wants to be signed in to.
	ErrNeedsAuthorization = errors.New("the server wants to be signed in to")
	// ErrClosed says that the session has ended.
	ErrClosed = errors.New("the connection with the server has ended")
	// ErrHungUp says, beside ErrClosed, that it was the server who has ended it, and that
	// nothing else is known.
	ErrHungUp = errors.New("the server has closed it")
)

// ServerError is what a server answers instead of a result.
type ServerError struct {
	// Code is the protocol's.
	Code int64
	// Message is the server's text, a line of at most 2 KiB.
	Message string
}

// Error says who has refused, and with which words.
func (e *ServerError) Error() string {
	return fmt.Sprintf("the server answers with an error (%d): %s", e.Code, e.Message)
}

const maxErrorText = 2 << 10

// rejected is what the SDK wraps around errors that cost a call and not the session. It
// looks like an answer of the server, and isn't exported.
const (
	rejected     = "rejected by transport"
	rejectedCode = -32005
)

// isOurs reports whether an error that looks like an answer of the server is the SDK's:
// what it says to calls that go on when a connection ends, too.
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

// inWords puts an error of the SDK into words of ours: what the server has answered, or
// what has happened on the way to it. Addresses, which may hold secrets, are left out.
func inWords(err error) error {
	var (
		wire *jsonrpc.Error
		way  *url.Error
	)
	switch {
	case errors.As(err, &way):
		return bounded(fmt.Errorf("ask the server: %w", way.Err))
	case errors.As(err, &wire) && !isOurs(wire):
		return &ServerError{Code: wire.Code, Message: text.Line(wire.Message, maxErrorText)}
	case isRejection(err):
		words := strings.TrimSuffix(strings.ReplaceAll(err.Error(), rejected+": ", ""), ": "+rejected)
		return bounded(&boundedError{text: words, err: err})
	}
	return bounded(err)
}

// boundedError is an error whose text is a line of bounded length: parts of it may be a
// server's.
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
