package tools

import (
	"context"
	"encoding/json"
	"fmt"

	"waymark/agentapi"
	"waymark/agentapi/client"
)

const (
	// findTokens and findTools limit an answer of find_tools: the approximate number of
	// tokens, and the number of tools.
	findTokens = 2000
	findTools  = 5
	// maxResultPage limits a page of a result, in bytes.
	maxResultPage = 32 << 10
)

type progressKey struct{}

// WithProgress makes calls of MCP servers' tools report their progress.
func WithProgress(ctx context.Context, progress func(agentapi.MCPProgress)) context.Context {
	return context.WithValue(ctx, progressKey{}, progress)
}

// CallServer calls a tool of one of the workspace's MCP servers, server__tool, like Call
// calls one of this package. It is for callers that list these tools individually.
func (o *Offer) CallServer(ctx context.Context, c client.Client, name string, arguments json.RawMessage) (*agentapi.MCPToolResult, error) {
	return callServer(ctx, c, name, arguments, o.Has(ToolResult))
}

// callServer implements CallServer. rest says that ToolResult is offered.
func callServer(ctx context.Context, c client.Client, name string, arguments json.RawMessage, rest bool) (*agentapi.MCPToolResult, error) {
	progress, _ := ctx.Value(progressKey{}).(func(agentapi.MCPProgress))
	r, err := c.CallMCPTool(ctx, agentapi.CallMCPTool{ToolName: name, Arguments: arguments}, progress)
	if err != nil {
		return refusal(ctx, err)
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
	list, err := c.client.SearchMCPTools(c, in.Query, client.MCPSearchOptions{Tokens: findTokens, Limit: findTools})
	if err != nil {
		return nil, err
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
	return callServer(c, c.client, in.Name, in.Arguments, c.rest)
}

func (c *call) toolResult() (any, error) {
	in, err := decode[struct {
		ID     string `json:"result_id"`
		Offset int64  `json:"offset"`
	}](c)
	switch {
	case err != nil:
		return nil, err
	case in.ID == "":
		return nil, wrong("tool_result needs result_id")
	case in.Offset < 0:
		return nil, wrong("offset is a number of bytes, from 0")
	}
	return c.client.MCPResult(c, in.ID, in.Offset, maxResultPage)
}
