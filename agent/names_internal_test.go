package agent

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"waymark/agent/hubcalls"
	"waymark/agentapi"
	"waymark/agentapi/client"
	"waymark/agentapi/client/fake"
	"waymark/internal/mcpserving"
	"waymark/workspace/access"
	"waymark/workspace/mcp/catalog"
)

// TestNamesThroughHub: a tool whose name clients don't take has another one at a hub, which
// calls it, and which a capability can't use for more than it allows.
func TestNamesThroughHub(t *testing.T) {
	h := newHubSide(t)
	a := fake.New(fake.Options{})
	odd := []string{"files/read.all", strings.Repeat("x", 70), "plain_0123abcd"}
	var list []fake.MCPTool
	for _, name := range odd {
		list = append(list, fake.MCPTool{Server: "demo", Tool: catalog.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)},
			Call: func(context.Context, json.RawMessage, func(agentapi.MCPProgress)) (*agentapi.MCPToolResult, error) {
				return &agentapi.MCPToolResult{Content: []agentapi.MCPContent{{Type: "text", Text: "called " + name}}}, nil
			}})
	}
	a.SetMCP(list...)
	h.remote = hubcalls.New(hubcalls.Options{Enabled: func() bool { return true }, Tokens: h.tokens, Client: func(string) client.Client { return a }})
	all := h.mint(agentapi.NewToken{Scopes: []string{string(access.ScopeMCP)}}).Secret
	narrow := h.mint(agentapi.NewToken{Scopes: []string{string(access.ScopeMCP)}, Hub: &agentapi.Capability{Tools: []string{"other__*"}}}).Secret
	listed := h.listed(all)
	for _, name := range odd {
		offered := mcpserving.Name("demo__" + name)
		if !slices.Contains(listed, offered) {
			t.Errorf("%s isn't listed as %s: %s", name, offered, listed)
		}
		if text, failed, err := h.call(all, offered, `{}`); err != nil || failed || text != "called "+name {
			t.Errorf("%s: %q, %v, %v", offered, text, failed, err)
		}
		if _, _, err := h.call(narrow, offered, `{}`); err == nil {
			t.Errorf("%s is called by a capability for other tools", offered)
		}
	}
}
