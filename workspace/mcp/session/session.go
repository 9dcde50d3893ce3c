// Package session is a client of the Model Context Protocol for one server, over standard
// streams, streamable HTTP or SSE. No other package uses the SDK.
//
// # Guarantees
//
//   - What a server sends is limited in size, number, depth and time. A server that exceeds a
//     limit loses its session and affects nothing else.
//   - A line on a server's standard output that isn't a message is reported and dropped.
//   - A call ends with its context, and the server is notified of that.
//
// # Concurrency
//
// A Session may be used by any number of goroutines.
package session

import (
	"context"
	"encoding/json"

	"waymark/workspace/mcp/catalog"
)

// Session is an initialized connection to a server.
type Session interface {
	// Catalogue fetches what the server offers.
	Catalogue(ctx context.Context) (*catalog.Catalogue, error)
	// Call calls a tool by the server's own name for it.
	Call(ctx context.Context, call *Call) (*Result, error)
	// Ask makes one of the requests of package catalog that aren't about tools, and returns
	// the server's result as it is. Other parameters than the request's own, such as _meta,
	// aren't sent.
	Ask(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)
	// Ping checks whether the server responds. Any answer counts, even an error that it
	// doesn't know the method.
	Ping(ctx context.Context) error
	// ToolsChanged receives a token whenever the server reports that its tools have
	// changed.
	ToolsChanged() <-chan struct{}
	// Done is closed when the connection has ended. After that Err says why.
	Done() <-chan struct{}
	Err() error
	// Protocol returns the negotiated protocol version.
	Protocol() string
	// Close ends the session. Ending the server's process is up to whoever started it.
	Close() error
}

// Call is a call of a tool.
type Call struct {
	Tool string
	// Arguments is a JSON object; nil means {}.
	Arguments json.RawMessage
	// Progress, if not nil, receives the server's progress reports, in order.
	Progress func(Progress)
	// Log, if not nil, receives what the server logs while this is its only call: a level of
	// the protocol, and at most 4 KiB of JSON. It is called like Options.Log.
	Log func(level, logger string, data json.RawMessage)
	// Asks are what the server may ask the caller, as far as it is in Options.Asks, too, and
	// this is the server's only call. Ask answers it; the server is told of an error.
	Asks []string
	Ask  func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)
}

// Progress is a progress report of a call.
type Progress struct {
	Progress float64 `json:"progress"`
	Total    float64 `json:"total,omitempty"`
	Message  string  `json:"message,omitempty"`
}

// Result is the result of a call.
type Result struct {
	Content []Content
	// Structured is the result according to the tool's output schema; nil if there is none.
	Structured json.RawMessage
	// IsError says that the tool has failed. A failure of the call is an error instead.
	IsError bool
}

// Content is a piece of a result.
type Content struct {
	// Type is "text", "image", "audio", "resource" or "resource_link".
	Type string
	Text string
	// Data is content that isn't text.
	Data      []byte
	MediaType string
	// URI and Name belong to a resource or a link to one.
	URI, Name string
}
