package fake

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"waymark/agentapi"
	"waymark/agentapi/client"
	"waymark/snapshot"
	"waymark/workspace/mcp/catalog"
)

// MCPTool is a tool of an MCP server. The server counts as approved and connected.
type MCPTool struct {
	// Server is the server's name. Keep the tools of one server together.
	Server string
	// Tool is the tool as the server describes it.
	catalog.Tool
	// Call runs the tool. Arguments are a JSON object. It must return when its context
	// ends. An error fails the call; it is not the same as IsError of a result.
	Call func(ctx context.Context, arguments json.RawMessage, progress func(agentapi.MCPProgress)) (*agentapi.MCPToolResult, error)
}

// SetMCP replaces the tools of MCP servers.
func (a *Agent) SetMCP(tools ...MCPTool) { a.state.change(func(s *state) { s.mcp = tools }) }

// tools returns the tools of all servers.
func (a *Agent) tools() []MCPTool {
	a.state.mu.Lock()
	defer a.state.mu.Unlock()
	return a.state.mcp
}

// ListMCPTools implements client.Client.
func (a *Agent) ListMCPTools(ctx context.Context, _ client.MCPToolOptions) (*agentapi.MCPTools, error) {
	return call(ctx, a, "", func(context.Context) (*agentapi.MCPTools, error) {
		list := &agentapi.MCPTools{Tools: []agentapi.MCPTool{}, Phase: snapshot.PhaseComplete, Servers: []agentapi.MCPServerOutcome{}}
		for _, t := range a.tools() {
			list.Tools = append(list.Tools, catalog.Listed(t.Server, []catalog.Tool{t.Tool})...)
			list.Servers = append(list.Servers, agentapi.MCPServerOutcome{Name: t.Server, Outcome: snapshot.OutcomeConnected})
		}
		list.Servers = slices.Compact(list.Servers)
		return list, nil
	})
}

// SearchMCPTools implements client.Client.
func (a *Agent) SearchMCPTools(ctx context.Context, query string, opts client.MCPSearchOptions) (*agentapi.MCPSearch, error) {
	all, err := a.ListMCPTools(ctx, client.MCPToolOptions{})
	if err != nil {
		return nil, err
	}
	found := catalog.Tools(all.Tools, query, cmp.Or(opts.Tokens, catalog.DefaultTokens), cmp.Or(opts.Limit, catalog.DefaultTools))
	found.Phase = all.Phase
	return &found, nil
}

// CallMCPTool implements client.Client.
func (a *Agent) CallMCPTool(ctx context.Context, asked agentapi.CallMCPTool, progress func(agentapi.MCPProgress)) (*agentapi.MCPToolResult, error) {
	return call(ctx, a, scopeMCP, func(ctx context.Context) (*agentapi.MCPToolResult, error) {
		server, name, _ := strings.Cut(asked.ToolName, catalog.Separator)
		arguments, tools := bytes.TrimSpace(asked.Arguments), a.tools()
		if len(arguments) == 0 || string(arguments) == "null" {
			arguments = []byte("{}")
		}
		i := slices.IndexFunc(tools, func(t MCPTool) bool { return t.Server == server && t.Name == name })
		switch {
		case server == "" || name == "":
			return nil, refuse(http.StatusBadRequest, "tool_name is SERVER__TOOL")
		case arguments[0] != '{' || !json.Valid(arguments):
			return nil, refuse(http.StatusBadRequest, "arguments is a JSON object")
		case !slices.ContainsFunc(tools, func(t MCPTool) bool { return t.Server == server }):
			return nil, refuse(http.StatusNotFound, "no configuration file has a server called %s", server)
		case i < 0:
			return nil, refuse(http.StatusBadGateway, "the server %s has no tool %q", server, name)
		case progress == nil:
			progress = func(agentapi.MCPProgress) {}
		}
		result, err := tools[i].Call(ctx, arguments, progress)
		if err != nil && client.CodeOf(err) == 0 {
			err = refuse(http.StatusBadGateway, "%v", err)
		}
		return result, err
	})
}
