package clienttest

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"waymark/agentapi"
	"waymark/agentapi/client"
	"waymark/snapshot"
)

// MCPServerName is the server that Env.MCPServer configures. When it starts it writes
// "demo is here" to its standard error. Its title is "Demo server", and its tools
// are, with JSON objects as arguments,
//
//   - echo {text}: gives the text back. Its title is "Echo", its description "Gives
//     a text back", text is a required string, and it is annotated as readOnlyHint.
//   - fail {}: fails, with the text "it has failed".
//   - steps {n}: n steps of progress, 1 to n of n with the message "step", and then
//     the text "done".
//   - repeat {text, times}: the text, so many times.
//   - structured {}: the structured content {"a":1}, with that as text.
//   - hang {}: ends with its call.
const MCPServerName = "demo"

// mcpNone: a workspace without MCP servers.
func (s *suite) mcpNone() {
	tools, err := s.c.ListMCPTools(s.ctx, client.MCPToolOptions{Wait: time.Minute})
	s.must(err)
	if tools.Tools == nil || tools.Servers == nil || len(tools.Tools)+len(tools.Servers) > 0 || tools.Phase != snapshot.PhaseComplete {
		s.Errorf("tools of a workspace without servers: %+v", tools)
	}
	found, err := s.c.SearchMCPTools(s.ctx, "echo", client.MCPSearchOptions{})
	s.must(err)
	if found.Tools == nil || len(found.Tools) > 0 {
		s.Errorf("found: %+v", found)
	}
	for name, want := range map[string]int{"none__x": 404, "none": 400, "__x": 400, "none__": 400, "": 400} {
		_, err := s.c.CallMCPTool(s.ctx, agentapi.CallMCPTool{ToolName: name}, nil)
		s.code("call "+name, err, want)
		_, err = s.c.CallMCPTool(s.ctx, agentapi.CallMCPTool{ToolName: name}, func(agentapi.MCPProgress) {})
		s.code("call with progress "+name, err, want)
	}
	if !s.has.Servers {
		return
	}
	servers, err := s.c.MCPServers(s.ctx, "", time.Minute)
	s.must(err)
	if servers.Servers == nil || len(servers.Servers) > 0 || servers.Phase != snapshot.PhaseComplete {
		s.Errorf("servers of a workspace without any: %+v", servers)
	}
	_, err = s.c.MCPServer(s.ctx, "none")
	s.code("show", err, 404)
	_, err = s.c.MCPLogs(s.ctx, "none", client.MCPLogOptions{})
	s.code("logs", err, 404)
	_, err = s.c.MCPResult(s.ctx, "none", 0, 0)
	s.code("a result", err, 404)
	s.code("approve", s.c.ApproveMCPServer(s.ctx, "none", agentapi.ApproveMCPServer{Definition: "x", Local: "y"}), 404)
	s.code("deny", s.c.DenyMCPServer(s.ctx, "none"), 404)
	s.code("restart", s.c.RestartMCPServer(s.ctx, "none"), 404)
	_, err = s.c.LoginMCPServer(s.ctx, "none", agentapi.LoginMCPServer{})
	s.code("login", err, 404)
}

// mcpBecomes waits until the server is as is says, which a change of its
// configuration takes a moment for.
func (s *suite) mcpBecomes(what string, is func(m *agentapi.MCPServer) bool) agentapi.MCPServer {
	s.Helper()
	var last []agentapi.MCPServer
	for s.ctx.Err() == nil {
		servers, err := s.c.MCPServers(s.ctx, "", time.Minute)
		s.must(err)
		last = servers.Servers
		if i := slices.IndexFunc(last, func(m agentapi.MCPServer) bool { return m.Name == MCPServerName }); i >= 0 && is(&last[i]) {
			return last[i]
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-s.ctx.Done():
		}
	}
	s.Fatalf("the server isn't %s: %+v", what, last)
	return agentapi.MCPServer{}
}

// mcpApprove approves the server as it is.
func (s *suite) mcpApprove(c client.Client) error {
	s.Helper()
	d, err := s.c.MCPServer(s.ctx, MCPServerName)
	s.must(err)
	return c.ApproveMCPServer(s.ctx, MCPServerName, agentapi.ApproveMCPServer{Definition: d.Definition, Local: d.Local})
}

// mcpReady has the server configured, approved and connected.
func (s *suite) mcpReady() {
	s.Helper()
	s.env.MCPServer(s)
	if !s.has.Servers {
		return
	}
	s.mcpBecomes("waiting", func(m *agentapi.MCPServer) bool { return m.Outcome == snapshot.OutcomeNeedsApproval })
	s.must(s.mcpApprove(s.c))
	s.mcpBecomes("connected", func(m *agentapi.MCPServer) bool { return m.Outcome == snapshot.OutcomeConnected })
}

// mcpApproval: what a workspace configures doesn't start before it is approved.
func (s *suite) mcpApproval() {
	s.env.MCPServer(s)
	m := s.mcpBecomes("waiting", func(m *agentapi.MCPServer) bool { return m.Outcome == snapshot.OutcomeNeedsApproval })
	if m.Origin != "workspace" || m.Transport != "stdio" || m.Error == "" || m.Tools != 0 || m.Source == "" || m.State != agentapi.MCPConfigured || m.StartedAt != nil {
		s.Errorf("before its approval: %+v", m)
	}
	tools, err := s.c.ListMCPTools(s.ctx, client.MCPToolOptions{})
	s.must(err)
	if len(tools.Tools) > 0 || tools.Phase != snapshot.PhaseComplete || len(tools.Servers) != 1 || tools.Servers[0].Outcome != snapshot.OutcomeNeedsApproval {
		s.Errorf("tools before the approval: %+v", tools)
	}
	for _, progress := range []func(agentapi.MCPProgress){nil, func(agentapi.MCPProgress) {}} {
		_, err = s.c.CallMCPTool(s.ctx, agentapi.CallMCPTool{ToolName: "demo__echo"}, progress)
		if code := client.CodeOf(err); code != 403 {
			s.Errorf("a call before the approval: %v", err)
		}
	}
	s.code("a restart before the approval", s.c.RestartMCPServer(s.ctx, MCPServerName), 409)
	d, err := s.c.MCPServer(s.ctx, MCPServerName)
	s.must(err)
	if d.Definition == "" || d.Local == "" || d.Command == "" || d.Pinned == "" || len(d.May) == 0 || d.Approval != nil || len(d.Tools) > 0 || d.StartedAt != nil {
		s.Errorf("what an approval is decided by: %+v", d)
	}
	for _, other := range []agentapi.ApproveMCPServer{{}, {Definition: d.Definition}, {Definition: "sha256:0", Local: d.Local}, {Definition: d.Definition, Local: d.Local, Held: "tools:0"}} {
		s.code("approve something else", s.c.ApproveMCPServer(s.ctx, MCPServerName, other), 409)
	}
	s.mcpTokens()
	s.must(s.mcpApprove(s.c))
	m = s.mcpBecomes("connected", func(m *agentapi.MCPServer) bool { return m.Outcome == snapshot.OutcomeConnected })
	if m.State != agentapi.MCPRunning || m.Title != "Demo server" || m.StartedAt == nil || m.CatalogueAt == nil || m.Tools != 6 || m.Error != "" {
		s.Errorf("after its approval: %+v", m)
	}
	if d, err = s.c.MCPServer(s.ctx, MCPServerName); err != nil || d.Approval == nil || d.Approval.By != "user" || d.Approval.Denied || len(d.Tools) != 6 {
		s.Errorf("after its approval: %+v, %v", d, err)
	}
	s.must(s.c.DenyMCPServer(s.ctx, MCPServerName))
	s.mcpBecomes("off", func(m *agentapi.MCPServer) bool {
		return m.Outcome == snapshot.OutcomeSwitchedOff && m.State != agentapi.MCPRunning && m.Tools == 0
	})
	_, err = s.c.CallMCPTool(s.ctx, agentapi.CallMCPTool{ToolName: "demo__echo"}, nil)
	if code := client.CodeOf(err); code != 403 {
		s.Errorf("a call after it was denied: %v", err)
	}
	if d, err = s.c.MCPServer(s.ctx, MCPServerName); err != nil || d.Approval == nil || !d.Approval.Denied {
		s.Errorf("after it was denied: %+v, %v", d, err)
	}
	s.must(s.mcpApprove(s.c))
	s.mcpBecomes("back", func(m *agentapi.MCPServer) bool { // which doesn't take that it runs
		return m.Outcome == snapshot.OutcomeConnected || m.Outcome == snapshot.OutcomeCached
	})
	// An approval outlives the agent.
	s.env.Restart(s)
	s.mcpBecomes("there after a restart", func(m *agentapi.MCPServer) bool {
		return m.Outcome == snapshot.OutcomeConnected || m.Outcome == snapshot.OutcomeCached
	})
	if got := s.mcpText(s.mcpCall(agentapi.CallMCPTool{ToolName: "demo__echo", Arguments: json.RawMessage(`{"text":"again"}`)})); got != "again" {
		s.Errorf("after a restart it says %q", got)
	}
}

// mcpTokens: who may do what.
func (s *suite) mcpTokens() {
	token := func(want agentapi.NewToken) client.Client {
		t, err := s.c.CreateToken(s.ctx, want)
		s.must(err)
		return s.env.WithToken(t.Secret)
	}
	for _, c := range []struct {
		name         string
		client       client.Client
		call, decide int // codes; 0 is any other
	}{
		{"without a token", s.env.WithToken(""), 401, 401},
		{"without the scopes", token(agentapi.NewToken{Scopes: []string{"files"}}), 403, 403},
		{"with the scope mcp", token(agentapi.NewToken{Scopes: []string{"mcp"}}), 0, 403},
		{"with the scope approve", token(agentapi.NewToken{Scopes: []string{"approve"}}), 403, 0},
		{"with a fence", token(agentapi.NewToken{Plan: s.env.Root() + "/plan.md", Scopes: []string{"mcp", "approve"}}), 403, 403},
	} {
		_, err := c.client.MCPServers(s.ctx, "", 0)
		s.code("list "+c.name, err, 0)
		if c.call != 0 {
			_, err = c.client.CallMCPTool(s.ctx, agentapi.CallMCPTool{ToolName: "demo__echo"}, nil)
			s.code("call "+c.name, err, c.call)
			s.code("restart "+c.name, c.client.RestartMCPServer(s.ctx, MCPServerName), c.call)
		}
		if c.decide != 0 {
			s.code("approve "+c.name, s.mcpApprove(c.client), c.decide)
			s.code("deny "+c.name, c.client.DenyMCPServer(s.ctx, MCPServerName), c.decide)
			_, err = c.client.LoginMCPServer(s.ctx, MCPServerName, agentapi.LoginMCPServer{})
			s.code("login "+c.name, err, c.decide)
		}
	}
}

func (s *suite) mcpCall(call agentapi.CallMCPTool) *agentapi.MCPToolResult {
	s.Helper()
	result, err := s.c.CallMCPTool(s.ctx, call, nil)
	if err != nil {
		log, logErr := s.c.MCPLogs(s.ctx, MCPServerName, client.MCPLogOptions{})
		s.Fatalf("%s: %v; its log: %+v, %v", call.ToolName, err, log, logErr)
	}
	return result
}

func (s *suite) mcpText(result *agentapi.MCPToolResult) string {
	s.Helper()
	var b strings.Builder
	for _, c := range result.Content {
		if c.Type != "text" {
			s.Errorf("the result has a %q", c.Type)
		}
		b.WriteString(c.Text)
	}
	return b.String()
}

// mcpTools: what is listed, and found.
func (s *suite) mcpTools() {
	s.mcpReady()
	tools, err := s.c.ListMCPTools(s.ctx, client.MCPToolOptions{Wait: time.Minute, Refresh: true})
	s.must(err)
	var names []string
	for _, t := range tools.Tools {
		names = append(names, strings.TrimPrefix(t.Name, "demo__"))
		if t.ServerName != MCPServerName || t.Required == nil || len(t.Schema) == 0 || t.Schema[0] != '{' {
			s.Errorf("a tool: %+v", t)
		}
	}
	slices.Sort(names)
	if !slices.Equal(names, []string{"echo", "fail", "hang", "repeat", "steps", "structured"}) || tools.Phase != snapshot.PhaseComplete {
		s.Fatalf("the tools are %q: %+v", names, tools)
	}
	echo := tools.Tools[slices.IndexFunc(tools.Tools, func(t agentapi.MCPTool) bool { return t.Name == "demo__echo" })]
	var schema struct {
		Type       string
		Properties map[string]struct{ Type string }
	}
	var annotations struct{ ReadOnlyHint bool }
	s.must(json.Unmarshal(echo.InputSchema, &schema))
	s.must(json.Unmarshal(echo.Annotations, &annotations))
	if echo.Title != "Echo" || echo.Description != "Gives a text back" || !slices.Equal(echo.Required, []string{"text"}) || !strings.Contains(string(echo.Schema), `"text"`) ||
		schema.Type != "object" || schema.Properties["text"].Type != "string" || !annotations.ReadOnlyHint {
		s.Errorf("echo is %+v", echo)
	}

	find := func(query string, opts client.MCPSearchOptions) *agentapi.MCPSearch {
		found, err := s.c.SearchMCPTools(s.ctx, query, opts)
		s.must(err)
		return found
	}
	if found := find("echo", client.MCPSearchOptions{}); len(found.Tools) == 0 || found.Tools[0].Name != "demo__echo" || found.Tokens == 0 {
		s.Errorf("echo: %+v", found)
	}
	if found := find("nothing-of-this-name", client.MCPSearchOptions{}); len(found.Tools) > 0 || found.Omitted > 0 {
		s.Errorf("what isn't there: %+v", found)
	}
	if found := find("", client.MCPSearchOptions{Limit: 2}); len(found.Tools) != 2 || found.Omitted != 4 {
		s.Errorf("two of all: %+v", found)
	}
	if found := find("", client.MCPSearchOptions{Tokens: 1}); len(found.Tools) > 0 || found.Omitted != 6 {
		s.Errorf("none of all: %+v", found)
	}
}

// mcpCalls: what tools are called with and answer.
func (s *suite) mcpCalls() {
	s.mcpReady()
	result := s.mcpCall(agentapi.CallMCPTool{ToolName: "demo__echo", Arguments: json.RawMessage(`{"text":"héllo <&>\n"}`)})
	if got := s.mcpText(result); got != "héllo <&>\n" || result.IsError || result.Truncated != nil || len(result.Content) != 1 {
		s.Errorf("echo: %+v", result)
	}
	if result := s.mcpCall(agentapi.CallMCPTool{ToolName: "demo__fail"}); !result.IsError || s.mcpText(result) != "it has failed" {
		s.Errorf("fail: %+v", result)
	}
	result = s.mcpCall(agentapi.CallMCPTool{ToolName: "demo__structured", Arguments: json.RawMessage(`null`)})
	var structured struct{ A int }
	if err := json.Unmarshal(result.Structured, &structured); err != nil || structured.A != 1 {
		s.Errorf("structured: %+v, %v", result, err)
	}
	for what, call := range map[string]agentapi.CallMCPTool{"an unknown tool": {ToolName: "demo__none"}, "a part of a name": {ToolName: "demo__ech"}} {
		_, err := s.c.CallMCPTool(s.ctx, call, nil)
		s.code(what, err, 502)
	}
	for _, arguments := range []string{`[1]`, `[]`, `""`, `"text"`, `1`} {
		_, err := s.c.CallMCPTool(s.ctx, agentapi.CallMCPTool{ToolName: "demo__echo", Arguments: json.RawMessage(arguments)}, nil)
		s.code("arguments "+arguments, err, 400)
	}

	var steps []agentapi.MCPProgress
	result, err := s.c.CallMCPTool(s.ctx, agentapi.CallMCPTool{ToolName: "demo__steps", Arguments: json.RawMessage(`{"n":3}`)}, func(p agentapi.MCPProgress) { steps = append(steps, p) })
	s.must(err)
	want := []agentapi.MCPProgress{{Progress: 1, Total: 3, Message: "step"}, {Progress: 2, Total: 3, Message: "step"}, {Progress: 3, Total: 3, Message: "step"}}
	if s.mcpText(result) != "done" || !slices.Equal(steps, want) {
		s.Errorf("steps: %+v, %+v", steps, result)
	}

	ctx, cancel := context.WithCancel(s.ctx)
	time.AfterFunc(100*time.Millisecond, cancel) // the call has most likely begun then
	_, err = s.c.CallMCPTool(ctx, agentapi.CallMCPTool{ToolName: "demo__hang"}, nil)
	if err == nil || client.CodeOf(err) != 0 {
		s.Errorf("a call that was given up: %v", err)
	}
	if got := s.mcpText(s.mcpCall(agentapi.CallMCPTool{ToolName: "demo__echo", Arguments: json.RawMessage(`{"text":"still there"}`)})); got != "still there" {
		s.Errorf("after that it says %q", got)
	}
	if !s.has.Servers {
		return
	}
	s.mcpLong()
	if m := s.mcpBecomes("counted", func(m *agentapi.MCPServer) bool { return m.Calls >= 6 }); m.Restarts != 0 {
		s.Errorf("it was started again: %+v", m)
	}
}

// mcpLong: a result that is too long for its answer.
func (s *suite) mcpLong() {
	const times = 100_000
	result := s.mcpCall(agentapi.CallMCPTool{ToolName: "demo__repeat", Arguments: json.RawMessage(`{"text":"é.","times":100000}`)})
	cut := result.Truncated
	if cut == nil || cut.ResultID == "" || cut.OriginalBytes < 3*times || cut.RetainedBytes >= cut.OriginalBytes {
		s.Fatalf("a long result is %+v", cut)
	}
	if text := s.mcpText(result); len(text) > 3*times/2 || !strings.HasPrefix(text, "é.é.") || !strings.HasSuffix(text, "é.é.") || !strings.Contains(text, "omitted") {
		s.Errorf("%d bytes of it: %.20q…%.20q", len(text), text, text[max(0, len(text)-20):])
	}
	var whole strings.Builder
	for offset, pages := int64(0), 0; ; pages++ {
		page, err := s.c.MCPResult(s.ctx, cut.ResultID, offset, 30_001)
		s.must(err)
		whole.WriteString(page.Text)
		if page.NextOffset == page.Length {
			break
		}
		if page.NextOffset <= offset || len(page.Text) > 30_001 {
			s.Fatalf("from %d: %d bytes, to %d", offset, len(page.Text), page.NextOffset)
		}
		offset = page.NextOffset
	}
	var all agentapi.MCPToolResult
	s.must(json.Unmarshal([]byte(whole.String()), &all))
	if s.mcpText(&all) != strings.Repeat("é.", times) || int64(whole.Len()) != cut.OriginalBytes {
		s.Errorf("the whole has %d bytes, want %d", whole.Len(), cut.OriginalBytes)
	}
}

// mcpLife: logs, restarts, and the end of an entry.
func (s *suite) mcpLife() {
	s.mcpReady()
	var text strings.Builder
	var offset int64
	read := func(until int) {
		for strings.Count(text.String(), "demo is here") < until {
			page, err := s.c.MCPLogs(s.ctx, MCPServerName, client.MCPLogOptions{Offset: offset, Wait: time.Minute})
			s.must(err)
			if page.Offset != offset || page.NextOffset != offset+int64(len(page.Text)) {
				s.Fatalf("from %d: %+v", offset, page)
			}
			text.WriteString(page.Text)
			offset = page.NextOffset
		}
	}
	read(1)
	s.must(s.c.RestartMCPServer(s.ctx, MCPServerName))
	read(2)
	m := s.mcpBecomes("restarted", func(m *agentapi.MCPServer) bool { return m.Restarts >= 1 })
	if m.Outcome != snapshot.OutcomeConnected {
		s.Errorf("after a restart: %+v", m)
	}
	_, err := s.c.LoginMCPServer(s.ctx, MCPServerName, agentapi.LoginMCPServer{})
	s.code("login to a server that asks for none", err, 409)
	_, err = s.c.MCPServer(s.ctx, "DEMO")
	s.code("another case", err, 404)
}
