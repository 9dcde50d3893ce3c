// Package tools is what chats do in a workspace, as tools for models: each with a name,
// a description, a JSON Schema of its arguments, hints, and what it does, over a
// client.Client. It knows no transport: the agent's own MCP server offers these tools,
// and so does whoever else brings a model and an agent together.
//
//	offer := tools.Offer{Scopes: []string{"processes", "files"}}
//	for _, t := range offer.Tools() { … }              // to the model
//	result, err := offer.Call(ctx, agent, name, args)  // what the model wants
//
// # Guarantees
//
//   - A tool that isn't offered isn't called, whatever name is given. What is offered
//     decides nothing else: who may do what is decided by the agent, by the token that
//     the client carries.
//   - A result is one text of JSON: what stands in files, in outputs and in diffs is
//     inside of its strings, and can't be taken for what the tool says. Its length is
//     bounded, some 64 KiB at the most, and what was left out is said, with how to get it.
//   - What a model can mend (a wrong argument, a text that isn't in the file, a refusal)
//     is a result with IsError, in words for the model. An error is what it can't mend:
//     no agent, a lost connection, the end of the context, [ErrNotOffered].
//   - Commands have no terminal and nobody to ask: editors, pagers and prompts for
//     passwords end at once.
//
// # Concurrency
//
// An Offer is plain data. Calls may go on at the same time.
//
// # Limits
//
// A command goes on when the call that waits for it is cancelled: it is in process_list.
// Paths that aren't absolute are below the workspace's directory, which is asked of the
// agent for each call that needs it.
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

// ErrNotOffered says that there is no tool of that name, or that it isn't offered here.
var ErrNotOffered = errors.New("this tool is not offered")

// Scopes of tokens that tools need; see package access.
const (
	scopeProcesses = "processes"
	scopeFiles     = "files"
	scopeMCP       = "mcp"
)

// Tool is a tool as a model is told of it. Its JSON is that of MCP, with Scope beside it.
type Tool struct {
	Name        string          `json:"name"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
	Annotations Hints           `json:"annotations"`
	// Scope is what the client's token must have for it; empty for what only reads.
	Scope string `json:"-"`

	plan bool // offered to who plans
	run  func(*call) (any, error)
}

// Hints are the annotations of MCP: what a tool does, for who decides whether somebody
// is asked before it is called.
type Hints struct {
	ReadOnly    bool `json:"readOnlyHint"`
	Destructive bool `json:"destructiveHint"`
	Idempotent  bool `json:"idempotentHint"`
	OpenWorld   bool `json:"openWorldHint"`
}

// Offer says which tools there are. The zero value offers those that read.
type Offer struct {
	// Scopes are what the client's token may do. A tool that needs another isn't
	// offered.
	Scopes []string
	// Plan says that the token has a fence: then there are those tools that it leaves.
	Plan bool
	// Only, if not nil, are the names of the tools that are offered, of those that the
	// above leave. Names that aren't any's are ignored.
	Only []string
}

// All offers all that a chat can be given.
func All() Offer { return Offer{Scopes: []string{scopeProcesses, scopeFiles, scopeMCP}} }

// Names returns the names of all tools, in the order in which they are offered.
func Names() []string {
	var names []string
	for i := range catalogue {
		names = append(names, catalogue[i].Name)
	}
	return names
}

// Tools returns the tools that are offered, always in the same order.
func (o *Offer) Tools() []Tool {
	var list []Tool
	for i := range catalogue {
		if o.has(&catalogue[i]) {
			list = append(list, catalogue[i])
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

// Call calls a tool, by its name, with a JSON object of arguments; none is an empty one.
// It acts with the client's token, for the client's chat.
func (o *Offer) Call(ctx context.Context, c client.Client, name string, arguments json.RawMessage) (*agentapi.MCPToolResult, error) {
	t := lookup(name)
	if t == nil || !o.has(t) {
		return nil, fmt.Errorf("%w: %.100q", ErrNotOffered, name)
	}
	if len(bytes.TrimSpace(arguments)) == 0 || bytes.Equal(bytes.TrimSpace(arguments), []byte("null")) {
		arguments = json.RawMessage("{}")
	}
	answer, err := t.run(&call{Context: ctx, rest: o.Has(ToolResult), client: c, tool: t, arguments: arguments})
	if err != nil {
		return refusal(ctx, err)
	}
	return result(answer)
}

// call is one call of a tool.
type call struct {
	context.Context
	rest      bool // ToolResult is offered, too
	client    client.Client
	tool      *Tool
	arguments json.RawMessage
}

// misuse is what is wrong with the arguments, for the model.
type misuse string

func (m misuse) Error() string { return string(m) }

// wrong is a misuse.
func wrong(format string, args ...any) error { return misuse(fmt.Sprintf(format, args...)) }

// refusal makes a result of what the model can mend, and an error of all else.
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

// result is the JSON of an answer.
func result(answer any) (*agentapi.MCPToolResult, error) {
	if r, ok := answer.(*agentapi.MCPToolResult); ok {
		return r, nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // a model reads it, and no browser
	if err := enc.Encode(answer); err != nil {
		return nil, err
	}
	return &agentapi.MCPToolResult{Content: textOf(string(bytes.TrimSpace(b.Bytes())))}, nil
}
