package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"waymark/agentapi"
	"waymark/agentapi/client"
	"waymark/internal/mcpserving"
)

const (
	// findTokens and findTools limit an answer of find_tools: the approximate number of
	// tokens, and the number of tools.
	findTokens = 2000
	findTools  = 5
	// maxResultPage limits a page of a result, in bytes.
	maxResultPage = 32 << 10
)

// Caller is what the caller of a tool of an MCP server takes of it besides its result.
type Caller struct {
	// Progress, if not nil, takes progress, and log messages if Logs is true.
	Progress func(agentapi.MCPProgress)
	Logs     bool
	// Asks are what the server may ask, State and Answers those of a call that has asked; see
	// agentapi.CallMCPTool.
	Asks    []string
	State   string
	Answers map[string]json.RawMessage
}

type callerKey struct{}

// WithCaller makes calls of MCP servers' tools those of a caller.
func WithCaller(ctx context.Context, c *Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallServer calls a tool of one of the workspace's MCP servers, server__tool, like Call
// calls one of this package. It is for callers that list these tools individually.
func (o *Offer) CallServer(ctx context.Context, c client.Client, name string, arguments json.RawMessage) (*agentapi.MCPToolResult, error) {
	return callServer(ctx, c, name, arguments, o.Has(ToolResult), o.Without)
}

// callServer implements CallServer. rest says that ToolResult is offered.
func callServer(ctx context.Context, c client.Client, name string, arguments json.RawMessage, rest bool, without []string) (*agentapi.MCPToolResult, error) {
	if server, _, _ := strings.Cut(name, "__"); slices.Contains(without, server) {
		return refusal(ctx, wrong("%.100q is a tool of a server that you start yourself: call it there", name))
	}
	caller, ok := ctx.Value(callerKey{}).(*Caller)
	if !ok {
		caller = new(Caller)
	}
	r, err := c.CallMCPTool(ctx, agentapi.CallMCPTool{
		ToolName: name, Arguments: arguments, Logs: caller.Logs, Asks: caller.Asks, State: caller.State, Answers: caller.Answers,
	}, caller.Progress)
	if err != nil {
		return refusal(ctx, err)
	}
	server, _, _ := strings.Cut(name, "__")
	for i := range r.Content {
		if uri := r.Content[i].URI; uri != "" {
			r.Content[i].URI = mcpserving.URI(server, uri)
		}
		if why := unshowable(&r.Content[i]); why != "" {
			r.Content[i] = textOf(why)[0]
		}
	}
	if t := r.Truncated; t != nil {
		note := fmt.Sprintf("[%d of %d bytes are shown", t.RetainedBytes, t.OriginalBytes)
		if t.ResultID != "" && rest {
			note += ": tool_result shows all, with result_id " + t.ResultID
		}
		r.Content = append(r.Content, textOf(note+"]")...)
	}
	return r, nil
}

// found is a tool in an answer of find_tools: only what call_tool needs.
type found struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"inputSchema"`
}

func (c *call) findTools() (any, error) {
	in, err := decode[struct {
		Query string `json:"query"`
	}](c)
	switch {
	case err != nil:
		return nil, err
	case in.Query == "":
		return nil, wrong("find_tools needs query")
	}
	opts := client.MCPSearchOptions{Tokens: findTokens, Limit: findTools}
	if len(c.without) > 0 { // of which there may be many
		opts = client.MCPSearchOptions{Tokens: 10 * findTokens, Limit: 10 * findTools}
	}
	list, err := c.client.SearchMCPTools(c, in.Query, opts)
	if err != nil {
		return nil, err
	}
	list.Tools = slices.DeleteFunc(list.Tools, func(t agentapi.MCPTool) bool { return slices.Contains(c.without, t.ServerName) })
	if n := len(list.Tools); n > findTools {
		list.Tools, list.Omitted = list.Tools[:findTools], list.Omitted+n-findTools
	}
	answer := struct {
		Tools   []found `json:"tools"`
		Omitted int     `json:"omitted,omitempty"`
		Note    string  `json:"note,omitempty"`
	}{Tools: []found{}, Omitted: list.Omitted}
	for i := range list.Tools {
		t := &list.Tools[i]
		answer.Tools = append(answer.Tools, found{t.Name, t.Description, t.InputSchema})
	}
	switch {
	case len(answer.Tools) == 0 && list.Phase == "pending":
		answer.Note = "some servers are still starting: ask again"
	case len(answer.Tools) == 0:
		answer.Note = "nothing matches: ask with other words"
	}
	return answer, nil
}

func (c *call) callTool() (any, error) {
	in, err := decode[struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}](c)
	switch {
	case err != nil:
		return nil, err
	case in.Name == "":
		return nil, wrong("call_tool needs name, as find_tools shows it")
	case len(in.Arguments) > 0 && in.Arguments[0] == '"': // some models encode the object as a string
		var s string
		if json.Unmarshal(in.Arguments, &s) == nil && json.Valid([]byte(s)) {
			in.Arguments = json.RawMessage(s)
		}
	}
	return callServer(c, c.client, in.Name, in.Arguments, c.rest, c.without)
}

func (c *call) toolResult() (any, error) {
	in, err := decode[struct {
		ID     string `json:"result_id"`
		Offset int64  `json:"offset"`
		Piece  int    `json:"piece"`
	}](c)
	switch {
	case err != nil:
		return nil, err
	case in.ID == "":
		return nil, wrong("tool_result needs result_id")
	case in.Offset < 0:
		return nil, wrong("offset is a number of bytes, from 0")
	case in.Piece < 0:
		return nil, wrong("piece is a number, from 1")
	case in.Piece > 0:
		return c.piece(in.ID, in.Piece)
	}
	return c.client.MCPResult(c, in.ID, in.Offset, maxResultPage)
}

// piece returns the nth piece of a result's content.
func (c *call) piece(id string, n int) (any, error) {
	whole, err := client.WholeMCPResult(c, c.client, id)
	switch {
	case err != nil:
		return nil, err
	case n > len(whole.Content):
		return nil, wrong("the result has %d pieces", len(whole.Content))
	}
	piece := whole.Content[n-1]
	if why := unshowable(&piece); why != "" {
		return nil, wrong("%s", why)
	}
	return &agentapi.MCPToolResult{Content: []agentapi.MCPContent{piece}}, nil
}
