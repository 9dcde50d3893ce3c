// Package tools has what chats do in a workspace as tools for models: each has a name, a
// description, a JSON Schema of its arguments, hints, and an implementation on top of a
// client.Client. It is independent of the transport: the agent's own MCP server offers
// these tools, and other programs that connect a model to an agent can, too.
//
//	offer := tools.Offer{Scopes: []string{"processes", "files"}}
//	for _, t := range offer.Tools() { … }              // to the model
//	result, err := offer.Call(ctx, agent, name, args)  // what the model wants
//
// # Guarantees
//
//   - A tool that isn't offered can't be called, whatever name is given. The offer isn't access
//     control: the agent decides what is allowed, by the token of the client.
//   - A result is a single JSON text. Contents of files, outputs and diffs are in its strings, so that
//     they can't be confused with what the tool says. Its length is limited to some 64 KiB; it says
//     what was omitted, and how to get that.
//   - What a model can correct (a wrong argument, a text that isn't in the file, a refusal) is a
//     result with IsError, in words for the model. What it can't correct is an error: no agent, a
//     lost connection, the end of the context, [ErrNotOffered].
//   - Commands have no terminal and nobody to ask: editors, pagers and password prompts end at once.
//
// # Concurrency
//
// An Offer is plain data. Calls may run concurrently.
//
// # Limits
//
// A command keeps running if the call that waits for it is cancelled; process_list shows
// it. Relative paths are below the workspace's directory, which each call requests from the
// agent if it needs it.
package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"waymark/agentapi"
	"waymark/agentapi/client"
)

// ErrNotOffered says that there is no such tool, or that it isn't offered.
var ErrNotOffered = errors.New("this tool is not offered")

// Scopes of tokens that tools need; see package access.
const (
	scopeProcesses = "processes"
	scopeFiles     = "files"
	scopeMCP       = "mcp"
	scopeDesktop   = "desktop"
)

// Tool is a tool as described to a model. Its JSON is MCP's.
type Tool struct {
	Name        string          `json:"name"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
	Annotations Hints           `json:"annotations"`
	// Scope is what the client's token must have; empty for tools that only read.
	Scope string `json:"-"`

	plan bool // offered to tokens with a fence
	run  func(*call) (any, error)
}

// Hints are MCP's annotations. Clients use them to decide whether to ask the user before a
// call.
type Hints struct {
	ReadOnly    bool `json:"readOnlyHint"`
	Destructive bool `json:"destructiveHint"`
	Idempotent  bool `json:"idempotentHint"`
	OpenWorld   bool `json:"openWorldHint"`
}

// Offer says which tools are offered. The zero value offers those that read.
type Offer struct {
	// Scopes are the scopes of the client's token. Tools that need another scope aren't
	// offered.
	Scopes []string
	// Plan says that the token has a fence, so that only tools that work within it are
	// offered.
	Plan bool
	// Only, if not nil, restricts the tools further to these names. Unknown names are
	// ignored.
	Only []string
	// Without are MCP servers whose tools aren't found or called.
	Without []string
}

// All offers everything that a chat can get, but the desktop, which few want: see
// Offer.WithDesktop.
func All() Offer { return Offer{Scopes: []string{scopeProcesses, scopeFiles, scopeMCP}} }

// WithDesktop offers the desktop, too.
func (o Offer) WithDesktop() Offer {
	o.Scopes = append(slices.Clip(o.Scopes), scopeDesktop)
	return o
}

// Names returns the names of all tools in the order of the offer.
func Names() []string {
	var names []string
	for i := range catalogue {
		names = append(names, catalogue[i].Name)
	}
	return names
}

// Tools returns the offered tools, always in the same order.
func (o *Offer) Tools() []Tool {
	var list []Tool
	for _, t := range catalogue {
		if o.has(&t) {
			t.InputSchema = compact(t.InputSchema)
			list = append(list, t)
		}
	}
	return list
}

// Has reports whether a tool is offered.
func (o *Offer) Has(name string) bool {
	t := lookup(name)
	return t != nil && o.has(t)
}

func (o *Offer) has(t *Tool) bool {
	switch {
	case o.Only != nil && !slices.Contains(o.Only, t.Name):
		return false
	case o.Plan && !t.plan:
		return false
	}
	return t.Scope == "" || slices.Contains(o.Scopes, t.Scope)
}

func lookup(name string) *Tool {
	for i := range catalogue {
		if catalogue[i].Name == name {
			return &catalogue[i]
		}
	}
	return nil
}

// Call calls a tool by its name, with a JSON object of arguments; empty means {}. It acts
// with the client's token, for the client's chat.
func (o *Offer) Call(ctx context.Context, c client.Client, name string, arguments json.RawMessage) (*agentapi.MCPToolResult, error) {
	t := lookup(name)
	if t == nil || !o.has(t) {
		return nil, fmt.Errorf("%w: %.100q", ErrNotOffered, name)
	}
	if len(bytes.TrimSpace(arguments)) == 0 || bytes.Equal(bytes.TrimSpace(arguments), []byte("null")) {
		arguments = json.RawMessage("{}")
	}
	answer, err := t.run(&call{Context: ctx, rest: o.Has(ToolResult), without: o.Without, client: c, tool: t, arguments: arguments})
	if err != nil {
		return refusal(ctx, err)
	}
	return result(answer)
}

// call is a call of a tool.
type call struct {
	context.Context
	rest      bool     // ToolResult is offered, too
	without   []string // as in Offer
	client    client.Client
	tool      *Tool
	arguments json.RawMessage
}

// misuse says what is wrong with the arguments, for the model.
type misuse string

func (m misuse) Error() string { return string(m) }

// wrong returns a misuse.
func wrong(format string, args ...any) error { return misuse(fmt.Sprintf(format, args...)) }

// refusal converts what the model can correct into a result, and everything else into an
// error.
func refusal(ctx context.Context, err error) (*agentapi.MCPToolResult, error) {
	var bad misuse
	var refused *client.Error
	switch {
	case ctx.Err() != nil:
		return nil, err
	case errors.As(err, &bad), errors.As(err, &refused):
		return &agentapi.MCPToolResult{IsError: true, Content: textOf(err.Error())}, nil
	}
	return nil, err
}

func textOf(s string) []agentapi.MCPContent {
	return []agentapi.MCPContent{{Type: "text", Text: s}}
}

// result encodes an answer as JSON.
func result(answer any) (*agentapi.MCPToolResult, error) {
	if r, ok := answer.(*agentapi.MCPToolResult); ok {
		return r, nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // a model reads it, not a browser
	if err := enc.Encode(answer); err != nil {
		return nil, err
	}
	return &agentapi.MCPToolResult{Content: textOf(string(bytes.TrimSpace(b.Bytes())))}, nil
}
