// Package session speaks the Model Context Protocol with one server, as a client:
// over standard streams, streamable HTTP or SSE. It is the one package in which the SDK
// is a client.
//
// # Guarantees
//
//   - What a server sends is bounded in size, count, depth and time; a server that
//     breaks a bound loses the session and nothing else.
//   - A line on a server's standard output that isn't a message is dropped and told.
//   - A call ends with its context, and the server is told so.
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

// Session is a connection with a server that has been initialized.
type Session interface {
	// Catalogue asks what the server offers.
	Catalogue(ctx context.Context) (*catalog.Catalogue, error)
	// Call calls a tool by the name that the server gave it.
	Call(ctx context.Context, call *Call) (*Result, error)
	// Ping asks whether the server is there. Any answer says so, that it doesn't know the
	// question too.
	Ping(ctx context.Context) error
	// ToolsChanged gets a token whenever the server says that its tools have changed.
	ToolsChanged() <-chan struct{}
	// Done is closed when the connection has ended; Err says why afterwards.
	Done() <-chan struct{}
	Err() error
	// Protocol is the version that was agreed on.
	Protocol() string
	// Close ends it. What started the server ends that.
	Close() error
}

// Call is one call of a tool.
type Call struct {
	Tool string
	// Arguments is a JSON object; nil is {}.
	Arguments json.RawMessage
	// Progress, if not nil, is told what the server says of its progress, in order.
	Progress func(Progress)
}

// Progress is how far a call is.
type Progress struct {
	Progress float64 `json:"progress"`
	Total    float64 `json:"total,omitempty"`
	Message  string  `json:"message,omitempty"`
}

// Result is a call's.
type Result struct {
	Content []Content
	// Structured is the result as the tool's output schema has it; nil for none.
	Structured json.RawMessage
	// IsError says that the tool, not the call, has failed.
	IsError bool
}

// Content is one piece of a result.
type Content struct {
	// Type is "text", "image", "audio", "resource" or "resource_link".
	Type string
	Text string
	// Data is for what isn't text.
	Data      []byte
	MediaType string
	// URI and Name are of a resource or a link to one.
	URI, Name string
}
