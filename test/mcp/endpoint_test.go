package mcp_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"waymark/agentapi"
	"waymark/agentapi/client"
)

// showing is a client of the agent's address that shows a token, and says for which chat.
type showing struct {
	http.RoundTripper

	token, chat string
}

func (s showing) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if s.token != "" {
		r.Header.Set("Authorization", "Bearer "+s.token)
	}
	if s.chat != "" {
		r.Header.Set(agentapi.HeaderChat, s.chat)
	}
	return s.RoundTripper.RoundTrip(r)
}

// overSocket connects to the agent's socket, whatever the host.
func (w *world) overSocket() *http.Transport {
	t := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", strings.TrimPrefix(w.home.Socket(), "unix:"))
	}}
	w.t.Cleanup(t.CloseIdleConnections)
	return t
}

// heard is what a client is told of changes.
type heard chan string

// mcpOver connects a client of MCP to the agent itself.
func (w *world) mcpOver(transport http.RoundTripper, base, version string, told heard) (*mcp.ClientSession, error) {
	tell := func(what string) {
		select {
		case told <- what:
		default:
		}
	}
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		Capabilities:               &mcp.ClientCapabilities{},
		ToolListChangedHandler:     func(context.Context, *mcp.ToolListChangedRequest) { tell("tools") },
		ResourceListChangedHandler: func(context.Context, *mcp.ResourceListChangedRequest) { tell("resources") },
	})
	s, err := c.Connect(w.ctx, &mcp.StreamableClientTransport{
		Endpoint: base + agentapi.PathMCP, HTTPClient: &http.Client{Transport: transport}, MaxRetries: -1,
	}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err == nil {
		w.t.Cleanup(func() { _ = s.Close() })
	}
	return s, err
}

func (w *world) tools(s *mcp.ClientSession) (names []string) {
	w.t.Helper()
	for tool, err := range s.Tools(w.ctx, nil) {
		w.must(err)
		names = append(names, tool.Name)
	}
	return names
}

// does calls a tool and returns what it says, and whether it was done.
func (w *world) tool(s *mcp.ClientSession, tool string, arguments any) (string, bool) {
	w.t.Helper()
	r, err := s.CallTool(w.ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		return err.Error(), false
	}
	var b strings.Builder
	for _, c := range r.Content {
		if c, ok := c.(*mcp.TextContent); ok {
			b.WriteString(c.Text)
		}
	}
	return b.String(), !r.IsError
}

// status is the answer to a request by hand.
func (w *world) status(transport http.RoundTripper, method, url, body string, header ...string) int {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.ctx, method, url, strings.NewReader(body))
	w.must(err)
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		if r.Header.Set(header[i], header[i+1]); header[i] == "Host" {
			r.Host = header[i+1]
		}
	}
	answer, err := transport.RoundTrip(r)
	w.must(err)
	defer func() { _ = answer.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 1<<10))
	return answer.StatusCode
}

const (
	withSessions    = "2025-11-25"
	withoutSessions = "2026-07-28"
)

var reading = []string{"context_for", "find_files", "git_diff", "list_directory", "read_file", "read_skill", "search_files"}

// TestEndpoint: the agent itself serves MCP on its socket, in both generations of the
// protocol, and the token that a client shows says what it may do there.
func TestEndpoint(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.put(filepath.Join(w.root, "AGENTS.md"), "Be brief.\n")
	w.configure(config{"s": w.hostileEntry("good")})
	w.start()
	w.listed("s")
	control, err := w.home.ControlToken()
	w.must(err)
	socket := w.overSocket()
	const base = "http://localhost"
	told := make(heard, 100)
	for _, version := range []string{withSessions, withoutSessions} {
		s, err := w.mcpOver(socket, base, version, nil)
		w.must(err)
		if got := s.InitializeResult(); got.ProtocolVersion != version || !strings.Contains(got.Instructions, "- AGENTS.md") {
			t.Errorf("%s: it begins with %+v", version, got)
		}
		if got := w.tools(s); !slices.Equal(got, reading) {
			t.Errorf("%s: without a token there are %v", version, got)
		}
		if said, ok := w.tool(s, "read_file", map[string]any{"path": "AGENTS.md"}); !ok || !strings.Contains(said, "Be brief.") {
			t.Errorf("%s: read_file says %s", version, said)
		}
		for _, tool := range []string{"execute", "write_file", "call_tool", "s__echo"} {
			if said, ok := w.tool(s, tool, map[string]any{"command": "touch made", "path": "made", "content": "", "name": "s__echo"}); ok {
				t.Errorf("%s: %s is done without a token: %s", version, tool, said)
			}
		}

		acting, err := w.mcpOver(showing{socket, control, ""}, base, version, told)
		w.must(err)
		if said, ok := w.tool(acting, "execute", map[string]any{"command": "echo hello"}); !ok || !strings.Contains(said, `"output":"hello\n"`) {
			t.Errorf("%s: execute says %s", version, said)
		}
	}

	// What a chat has started another one doesn't see.
	one, err := w.mcpOver(showing{socket, control, uuid.NewString()}, base, withSessions, nil)
	w.must(err)
	other, err := w.mcpOver(showing{socket, control, uuid.NewString()}, base, withoutSessions, nil)
	w.must(err)
	if said, ok := w.tool(one, "execute", map[string]any{"command": "echo mine"}); !ok {
		t.Error(said)
	}
	if said, _ := w.tool(one, "process_list", nil); !strings.Contains(said, "echo mine") || strings.Contains(said, "echo hello") {
		t.Errorf("the chat sees %s", said)
	}
	if said, _ := w.tool(other, "process_list", nil); strings.Contains(said, "echo mine") {
		t.Errorf("another chat sees %s", said)
	}

	// Clients are told of what changes, by each generation's means.
	w.approve("s")
	for {
		select {
		case what := <-told:
			if what != "tools" {
				continue
			}
		case <-w.ctx.Done():
			t.Fatal("nobody is told of a new tool")
		}
		break
	}
	w.await("that the new tool is listed", func() (any, bool) {
		list := w.tools(one)
		return list, slices.Contains(list, "s__echo")
	})
	if said, ok := w.tool(other, "s__echo", map[string]any{"text": "hi"}); !ok {
		t.Errorf("the tool of a server says %s", said)
	}

	// A session is there for its token alone, and for no web page.
	url := base + agentapi.PathMCP
	ping := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	mine := []string{"Mcp-Session-Id", one.ID(), "Mcp-Protocol-Version", withSessions}
	for _, c := range []struct {
		what   string
		want   int
		header []string
	}{
		{"its own token", http.StatusOK, append(mine, "Authorization", "Bearer "+control)},
		{"no token", http.StatusNotFound, mine},
		{"a wrong token", http.StatusUnauthorized, append(mine, "Authorization", "Bearer wm_WRONG")},
		{"a page", http.StatusForbidden, append(mine, "Authorization", "Bearer "+control, "Origin", "https://example.com")},
	} {
		if got := w.status(socket, http.MethodPost, url, ping, c.header...); got != c.want {
			t.Errorf("a session of another's by %s: %d, want %d", c.what, got, c.want)
		}
	}
	if got := w.status(socket, http.MethodDelete, url, "", mine...); got != http.StatusNotFound {
		t.Errorf("a session is ended without its token: %d", got)
	}
	w.fencedEndpoint(socket, base)
	w.stop()
}

// fencedEndpoint: a fence holds there, and what was connected ends with its token.
func (w *world) fencedEndpoint(socket http.RoundTripper, base string) {
	w.t.Helper()
	made, err := w.client.CreateToken(w.ctx, agentapi.NewToken{Plan: filepath.Join(w.root, "PLAN.md")})
	w.must(err)
	s, err := w.mcpOver(showing{socket, made.Secret, ""}, base, withSessions, nil)
	w.must(err)
	if said, ok := w.tool(s, "write_file", map[string]any{"path": "PLAN.md", "content": "# Plan\n"}); !ok {
		w.t.Errorf("the plan isn't written: %s", said)
	}
	if said, ok := w.tool(s, "write_file", map[string]any{"path": "x", "content": ""}); ok || !strings.Contains(said, "one file only") {
		w.t.Errorf("beside the fence: %s", said)
	}
	if list := w.tools(s); slices.Contains(list, "call_tool") || slices.Contains(list, "s__echo") {
		w.t.Errorf("behind a fence there are %v", list)
	}
	w.must(w.client.RevokeToken(w.ctx, made.ID))
	if said, ok := w.tool(s, "read_file", map[string]any{"path": "PLAN.md"}); ok {
		w.t.Errorf("after its token: %s", said)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Wait() }()
	select {
	case err := <-ended:
		w.t.Log(err)
	case <-time.After(timeout):
		w.t.Error("the session goes on after its token")
	}
}

// TestEndpointTCP: over TCP nobody comes without a token, under another name, or where the
// configuration has no services there; the token of --listen-token-file reads.
func TestEndpointTCP(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	const listen = "the-token-of-who-listens"
	file := filepath.Join(w.home.Dir, "listen")
	w.put(file, listen+"\n")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	w.must(err)
	address := l.Addr().String()
	w.must(l.Close())
	w.args = []string{"--listen", "tcp:" + address, "--listen-token-file", file}
	w.put(filepath.Join(w.root, "AGENTS.md"), "Be brief.\n")
	w.launch()
	base := "http://" + address
	overTCP := client.New(base, client.Options{Token: listen})
	w.await("that it answers", func() (any, bool) {
		_, err := overTCP.Status(w.ctx)
		return err, err == nil
	})
	control, err := w.home.ControlToken()
	w.must(err)
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	hello := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	for what, c := range map[string]struct {
		want   int
		header []string
	}{
		"no token":     {http.StatusUnauthorized, nil},
		"another name": {http.StatusMisdirectedRequest, []string{"Authorization", "Bearer " + listen, "Host", "evil.example"}},
		"no services":  {http.StatusForbidden, []string{"Authorization", "Bearer " + control}},
	} {
		if got := w.status(transport, http.MethodPost, base+agentapi.PathMCP, hello, c.header...); got != c.want {
			t.Errorf("%s: %d, want %d", what, got, c.want)
		}
	}
	w.must(w.home.Configure("[services]\ntcp = true\n"))
	w.await("that it is let in", func() (any, bool) {
		s, err := w.mcpOver(showing{transport, listen, ""}, base, withoutSessions, nil)
		if err != nil {
			return err, false
		}
		if got := w.tools(s); !slices.Equal(got, reading) {
			t.Errorf("who only listens is offered %v", got)
		}
		return nil, true
	})
	s, err := w.mcpOver(showing{transport, control, ""}, base, withSessions, nil)
	w.must(err)
	if said, ok := w.tool(s, "execute", map[string]any{"command": "echo hello"}); !ok || !strings.Contains(said, `"output":"hello\n"`) {
		t.Errorf("execute says %s", said)
	}
	w.must(s.Close())
	ctx, cancel := context.WithTimeout(w.ctx, timeout)
	defer cancel()
	_, err = w.agent.Stop(ctx)
	w.must(err)
}
