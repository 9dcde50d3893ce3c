package mcpserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"waymark/agentapi"
	"waymark/agentapi/client"
	"waymark/agentapi/client/fake"
	"waymark/internal/mcpserving"
	"waymark/snapshot"
	"waymark/workspace/mcp/catalog"
	"waymark/workspace/mcpserver"
	"waymark/workspace/mcpserver/tools"
)

// TestTools: the tools are there, and do what they say.
func TestTools(t *testing.T) {
	w := start(t, nil)
	s := w.connect()
	if got, want := toolNames(t, s), "context_for edit_files execute find_files git_diff list_directory process_list process_output process_signal read_file read_skill search_files write_file"; got != want {
		t.Errorf("offered are %s, not %s", got, want)
	}
	if text, failed := call(t, s, "execute", map[string]any{"command": "echo hello"}); failed || !strings.Contains(text, `"output":"hello\n"`) {
		t.Errorf("execute says %s", text)
	}
	if text, failed := call(t, s, "read_file", map[string]any{"path": "nothing"}); !failed {
		t.Errorf("a file that isn't there is %s", text)
	}
	_, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "nonsense"})
	var e *jsonrpc.Error
	if !errors.As(err, &e) || e.Code != jsonrpc.CodeInvalidParams {
		t.Errorf("a tool that isn't there: %v", err)
	}
}

// TestReadOnly: who may only read is offered nothing that acts, and does nothing, whatever
// it names.
func TestReadOnly(t *testing.T) {
	w := start(t, func(w *world, o *mcpserver.Options) {
		o.Offer = tools.Offer{}
		o.Dial = func(context.Context) (client.Client, error) { return w.agent.WithToken(""), nil }
	})
	demo(w, 1)
	s := w.connect()
	if got, want := toolNames(t, s), "context_for find_files git_diff list_directory read_file read_skill search_files"; got != want {
		t.Errorf("offered are %s, not %s", got, want)
	}
	for _, name := range append(tools.Names(), "demo__t0") {
		offer := tools.Offer{}
		if offer.Has(name) {
			continue
		}
		if _, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: map[string]any{"command": "echo > f", "name": "demo__t0"}}); err == nil {
			t.Errorf("%s is called", name)
		}
	}
	if list, err := w.agent.ListProcesses(t.Context(), 0); err != nil || len(list.Processes) != 0 {
		t.Errorf("something runs: %+v, %v", list, err)
	}
}

// pixel is a PNG, which servers call what they like.
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="

// demo gives the workspace an MCP server with so many tools.
func demo(w *world, n int) {
	w.agent.SetMCP(demoTools(n)...)
	w.engine.PublishResources(snapshot.Resource{Kind: "mcp_server", Source: "/workspace/.mcp.json", Key: "demo", Status: snapshot.StatusOK, SizeBytes: int64(n)})
}

func demoTools(n int) (list []fake.MCPTool) {
	for i := range n {
		list = append(list, fake.MCPTool{
			Server: "demo", Tool: catalog.Tool{
				Name: fmt.Sprintf("t%d", i), Description: fmt.Sprintf("Does the thing number %d, with all that belongs to it", i),
				InputSchema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}}}`),
			},
			Call: func(_ context.Context, arguments json.RawMessage, progress func(agentapi.MCPProgress)) (*agentapi.MCPToolResult, error) {
				progress(agentapi.MCPProgress{Progress: 1, Total: 2, Message: "half"})
				return &agentapi.MCPToolResult{Content: []agentapi.MCPContent{
					{Type: "text", Text: string(arguments)}, {Type: "image", Data: pixel, MediaType: "image/jpeg"},
				}, Structured: arguments}, nil
			},
		})
	}
	return list
}

// TestServers: few tools of MCP servers have their own names; of many there are find_tools
// and call_tool; and clients are told when that changes.
func TestServers(t *testing.T) {
	w := start(t, nil)
	s := w.connect()
	demo(w, 2)
	w.await("tools")
	own := "context_for edit_files execute find_files git_diff list_directory process_list process_output process_signal read_file read_skill search_files"
	for !strings.Contains(toolNames(t, s), "tool_result") { // they come one by one
		w.await("tools")
	}
	if got, want := toolNames(t, s), strings.Replace(own, "context_for", "context_for demo__t0 demo__t1", 1)+" tool_result write_file"; got != want {
		t.Errorf("offered are %s, not %s", got, want)
	}
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "demo__t1", Arguments: map[string]any{"text": "x"}})
	if err != nil || len(r.Content) != 2 || r.Content[0].(*mcp.TextContent).Text != `{"text":"x"}` || r.Content[1].(*mcp.ImageContent).MIMEType != "image/png" || r.StructuredContent == nil {
		t.Errorf("a tool's result is %+v, %v", r, err)
	}
	// What clients don't take as a name is called by another one, and called back by that.
	odd := "files/read.all " + strings.Repeat("x", 60)
	w.agent.SetMCP(fake.MCPTool{Server: "demo", Tool: catalog.Tool{Name: odd, InputSchema: json.RawMessage(`{"type":"object"}`)},
		Call: func(context.Context, json.RawMessage, func(agentapi.MCPProgress)) (*agentapi.MCPToolResult, error) {
			return &agentapi.MCPToolResult{Content: []agentapi.MCPContent{{Type: "text", Text: "read"}}}, nil
		}})
	w.engine.PublishResources(snapshot.Resource{Kind: "mcp_server", Source: "/workspace/.mcp.json", Key: "demo", Status: snapshot.StatusOK, SizeBytes: 3})
	offered := mcpserving.Name("demo__" + odd)
	for !strings.Contains(toolNames(t, s), offered) || strings.Contains(toolNames(t, s), "demo__t0") {
		w.await("tools")
	}
	if text, failed := call(t, s, offered, nil); failed || text != "read" || len(offered) > 50 || strings.ContainsAny(offered, "./ ") {
		t.Errorf("%s says %s", offered, text)
	}
	demo(w, 150)
	for !strings.Contains(toolNames(t, s), "find_tools") {
		w.await("tools")
	}
	for strings.Contains(toolNames(t, s), "demo__") {
		w.await("tools")
	}
	if got := toolNames(t, s); !strings.Contains(got, "call_tool") {
		t.Errorf("offered are %s", got)
	}
	if text, failed := call(t, s, "find_tools", map[string]any{"query": "the thing number 77"}); failed || !strings.Contains(text, "demo__t") {
		t.Errorf("found are %s", text)
	}
	if text, failed := call(t, s, "call_tool", map[string]any{"name": "demo__t77", "arguments": map[string]any{"text": "y"}}); failed || text != `{"text":"y"}` {
		t.Errorf("call_tool says %s", text)
	}
	if text, failed := call(t, s, "call_tool", map[string]any{"name": "none__t"}); !failed || !strings.Contains(text, "none") {
		t.Errorf("call_tool of no server says %s", text)
	}
	w.agent.SetMCP()
	w.engine.PublishResources()
	for strings.Contains(toolNames(t, s), "find_tools") {
		w.await("tools")
	}
}

// TestAway: what happens while no agent runs.
func TestAway(t *testing.T) {
	var away atomic.Bool
	away.Store(true)
	w := start(t, func(w *world, o *mcpserver.Options) {
		o.Dial = func(context.Context) (client.Client, error) {
			if away.Load() {
				return nil, fmt.Errorf("%w: start one with 'agent run'", client.ErrNotRunning)
			}
			return w.agent, nil
		}
	})
	s := w.connect()
	if got := s.InitializeResult().Instructions; !strings.Contains(got, "agent run") {
		t.Errorf("the instructions say %s", got)
	}
	if text, failed := call(t, s, "list_directory", nil); !failed || !strings.Contains(text, "agent run") {
		t.Errorf("without an agent: %s", text)
	}
	away.Store(false)
	w.engine.PublishResources(w.skill("/workspace/skills/one", "one", "The first", nil))
	w.await("prompts") // the server looks for it by itself
	if text, failed := call(t, s, "list_directory", nil); failed {
		t.Errorf("with an agent: %s", text)
	}
	w.agent.Restart()
	if text, failed := call(t, s, "list_directory", nil); failed {
		t.Errorf("after a restart: %s", text)
	}
	w.agent.Break()
	resumed := make(chan struct{})
	go func() { defer close(resumed); w.agent.Resume() }()
	if text, failed := call(t, s, "list_directory", nil); failed {
		t.Errorf("while it is restarted: %s", text)
	}
	<-resumed
}

// TestBudget: what a chat begins with, with 200 skills and 150 tools.
func TestBudget(t *testing.T) {
	w := start(t, nil)
	var resources []snapshot.Resource
	for i := range 200 {
		resources = append(resources, w.skill(fmt.Sprintf("/workspace/.agents/skills/skill-%03d", i), fmt.Sprintf("skill-%03d", i),
			"Use this when the release notes are to be written, checked against the tracker, and sent to everybody who asked for them", nil))
	}
	for i := range 40 {
		resources = append(resources, instructions(fmt.Sprintf("/workspace/.cursor/rules/rule-%02d.mdc", i), "Be kind."))
	}
	s := w.connect()
	// What clients don't take as a name is called by another one, and called back by that.
	odd := "files/read.all " + strings.Repeat("x", 60)
	w.agent.SetMCP(fake.MCPTool{Server: "demo", Tool: catalog.Tool{Name: odd, InputSchema: json.RawMessage(`{"type":"object"}`)},
		Call: func(context.Context, json.RawMessage, func(agentapi.MCPProgress)) (*agentapi.MCPToolResult, error) {
			return &agentapi.MCPToolResult{Content: []agentapi.MCPContent{{Type: "text", Text: "read"}}}, nil
		}})
	w.engine.PublishResources(snapshot.Resource{Kind: "mcp_server", Source: "/workspace/.mcp.json", Key: "demo", Status: snapshot.StatusOK, SizeBytes: 3})
	offered := mcpserving.Name("demo__" + odd)
	for !strings.Contains(toolNames(t, s), offered) || strings.Contains(toolNames(t, s), "demo__t0") {
		w.await("tools")
	}
	if text, failed := call(t, s, offered, nil); failed || text != "read" || len(offered) > 50 || strings.ContainsAny(offered, "./ ") {
		t.Errorf("%s says %s", offered, text)
	}
	demo(w, 150)
	for !strings.Contains(toolNames(t, s), "find_tools") {
		w.await("tools")
	}
	w.engine.PublishResources(resources...)
	w.await("prompts")
	for n := 0; n < len(resources); { // they are added one by one
		list, err := s.ListResources(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if n = len(list.Resources); list.NextCursor != "" {
			n = len(resources)
		}
	}
	text := w.connect().InitializeResult().Instructions // of a chat that begins now
	list, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	size := len(text) + sizeOf(t, list.Tools)
	t.Logf("instructions: %d bytes, tools: %d bytes; about %d tokens", len(text), sizeOf(t, list.Tools), size/4)
	if size/4 > mcpserver.Budget {
		t.Errorf("a chat begins with about %d tokens, more than %d", size/4, mcpserver.Budget)
	}
	for i := range 200 {
		if want := fmt.Sprintf("- skill-%03d: Use", i); !strings.Contains(text, want) {
			t.Errorf("the instructions don't name %s with its first words", want)
			break
		}
	}
	if !strings.Contains(text, "150 more tools are behind find_tools") {
		t.Errorf("the instructions don't say where the tools are:\n%s", text)
	}
}

// TestStartedByClient: a client that starts a server itself doesn't get its tools twice, however
// it asks for them.
func TestStartedByClient(t *testing.T) {
	w := start(t, func(_ *world, o *mcpserver.Options) { o.Client = "claude-code" })
	demo(w, 150)
	mine := snapshot.Resource{Kind: "mcp_server", Source: "/workspace/.mcp.json", Key: "demo", Status: snapshot.StatusOK, SizeBytes: 1}
	theirs := mine
	theirs.Source = "/workspace/.cursor/mcp.json"
	file := func(source string, reader string) snapshot.Resource {
		return snapshot.Resource{Kind: "mcp_config", Source: source, Status: snapshot.StatusOK, Readers: []string{reader}}
	}
	files := []snapshot.Resource{file(mine.Source, "claude-code"), file(theirs.Source, "cursor")}
	w.engine.PublishResources(append(files, theirs)...)
	s := w.connect()
	for !strings.Contains(toolNames(t, s), "call_tool") {
		w.await("tools")
	}
	if text, failed := call(t, s, "call_tool", map[string]any{"name": "demo__t7", "arguments": map[string]any{"text": "y"}}); failed || text != `{"text":"y"}` {
		t.Errorf("of a file that it doesn't read: %s", text)
	}
	w.engine.PublishResources(append(files, mine)...)
	for strings.Contains(toolNames(t, s), "call_tool") {
		w.await("tools")
	}
	other := fake.MCPTool{Server: "other", Tool: catalog.Tool{Name: "thing", Description: "Does the thing", InputSchema: json.RawMessage(`{"type":"object"}`)}}
	w.agent.SetMCP(append(demoTools(150), other)...)
	w.engine.PublishResources(append(files, mine, snapshot.Resource{Kind: "mcp_server", Source: "/workspace/x.json", Key: "other", Status: snapshot.StatusOK})...)
	for !strings.Contains(toolNames(t, s), "other__thing") {
		w.await("tools")
	}
	if got := toolNames(t, s); strings.Contains(got, "demo__") || strings.Contains(got, "find_tools") {
		t.Errorf("offered are %s", got)
	}
	o := tools.All()
	o.Without = []string{"demo"}
	found, err := o.Call(t.Context(), w.agent, "find_tools", json.RawMessage(`{"query":"does the thing"}`))
	if err != nil || strings.Contains(found.Content[0].Text, "demo__") || !strings.Contains(found.Content[0].Text, "other__thing") {
		t.Errorf("found are %+v, %v", found, err)
	}
	for _, name := range []string{"call_tool", "demo__t1"} {
		call := func() (*agentapi.MCPToolResult, error) {
			return o.CallServer(t.Context(), w.agent, name, json.RawMessage(`{}`))
		}
		if name == "call_tool" {
			call = func() (*agentapi.MCPToolResult, error) {
				return o.Call(t.Context(), w.agent, name, json.RawMessage(`{"name":"demo__t1"}`))
			}
		}
		if r, err := call(); err != nil || !r.IsError || !strings.Contains(r.Content[0].Text, "start yourself") {
			t.Errorf("%s of an excluded server: %+v, %v", name, r, err)
		}
	}
}

// TestGiven: the instructions of a directory come with the first file that a chat reads there,
// once; and not with themselves.
func TestGiven(t *testing.T) {
	w := start(t, nil)
	w.engine.PublishResources(instructions("/workspace/d/AGENTS.md", "Be brief in d."), instructions("/workspace/e/AGENTS.md", "Be brief in e."))
	for _, name := range []string{"/workspace/d/a.txt", "/workspace/d/b.txt", "/workspace/d/deep/c.txt", "/workspace/e/AGENTS.md"} {
		if err := w.agent.WriteFile(t.Context(), name, strings.NewReader("text\n")); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // chats
		s := w.connect()
		for _, read := range []struct{ file, with string }{
			{"d/nothing.txt", ""}, {"d/a.txt", "Be brief in d."}, {"d/b.txt", ""}, {"d/a.txt", ""}, {"d/deep/c.txt", ""}, {"e/AGENTS.md", ""},
		} {
			text, failed := call(t, s, "read_file", map[string]any{"path": read.file})
			if failed != strings.Contains(read.file, "nothing") || strings.Contains(text, "Be brief") != (read.with != "") || !strings.Contains(text, read.with) {
				t.Errorf("%s brings %s, want %q", read.file, text, read.with)
			}
		}
	}
}
