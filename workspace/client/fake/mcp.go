package fake

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"waymark/internal/defaults"
	"waymark/snapshot"
	"waymark/workspace"
	"waymark/workspace/client"
	"waymark/workspace/mcp/serverlog"
)

// MCPServer is an MCP server that the fake's workspace configures.
type MCPServer struct {
	Name, Title, Instructions string
	Tools                     []MCPTool
	// Approved lets it start at once; else it waits for an approval.
	Approved bool
	// Pending has it start for ever, and Failed says why it doesn't; both count for one
	// that is approved.
	Pending bool
	Failed  string
	// Stderr is what it writes to its standard error whenever it starts.
	Stderr string
}

// MCPTool is a tool of an MCPServer.
type MCPTool struct {
	Name, Title, Description string
	// InputSchema and Annotations are JSON objects; nil is {"type":"object"}, and none.
	InputSchema, Annotations json.RawMessage
	// Call is what it does. Arguments are a JSON object. Its context ends with the
	// call; what it does after that isn't seen. An error is one of the call, and not
	// IsError of a result.
	Call func(ctx context.Context, arguments json.RawMessage, progress func(workspace.MCPProgress)) (*workspace.MCPToolResult, error)
}

// mcpServer is a server as the agent has it.
type mcpServer struct {
	MCPServer
	definition string
	decision   string // "", "approve" or "deny"
	log        *serverlog.Log
	since      time.Time // when it started; zero when it doesn't run
	calls      int
	starts     int
}

const (
	// Of the agent's own limits.
	mcpPage         = 64 << 10
	mcpSearchTokens = 8000
	mcpSearchTools  = 20
	mcpLogBytes     = 1 << 20
)

// SetMCPServers says which MCP servers the workspace configures. One that is there
// already keeps what was decided about it as long as it is the same, but for what
// its functions do.
func (a *Agent) SetMCPServers(servers ...MCPServer) {
	s := a.state
	s.mu.Lock()
	var list []*mcpServer
	for _, server := range servers {
		m := &mcpServer{MCPServer: server, definition: digestOf(server)}
		i := slices.IndexFunc(s.mcp, func(had *mcpServer) bool { return had.Name == server.Name })
		if i >= 0 {
			m.log = s.mcp[i].log
		} else {
			m.log = serverlog.New(mcpLogBytes)
		}
		if i >= 0 && s.mcp[i].definition == m.definition {
			m.decision, m.starts, m.calls = s.mcp[i].decision, s.mcp[i].starts, s.mcp[i].calls
		}
		m.start()
		list = append(list, m)
	}
	slices.SortFunc(list, func(a, b *mcpServer) int { return cmp.Compare(a.Name, b.Name) })
	s.mcp = list
	s.mu.Unlock()
	s.changed.Notify()
}

// digestOf is a digest of what a server is.
func digestOf(server MCPServer) string {
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%q %q %q", server.Name, server.Title, server.Instructions)
	for i := range server.Tools {
		t := &server.Tools[i]
		_, _ = fmt.Fprintf(h, "%q %q %q %q %q", t.Name, t.Title, t.Description, t.InputSchema, t.Annotations)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// start starts a server that may, and doesn't run. The caller has the lock.
func (m *mcpServer) start() {
	outcome, _ := m.outcome()
	switch {
	case outcome != snapshot.OutcomeConnected:
		m.since = time.Time{}
	case m.since.IsZero():
		m.since = time.Now().UTC()
		m.starts++
		m.log.Event("started")
		for line := range strings.Lines(m.Stderr) {
			m.log.Line(serverlog.Stderr, strings.TrimRight(line, "\n"))
		}
	}
}

func (m *mcpServer) outcome() (snapshot.Outcome, string) {
	switch {
	case m.decision == "deny":
		return snapshot.OutcomeSwitchedOff, "it was denied"
	case m.decision == "" && !m.Approved:
		return snapshot.OutcomeNeedsApproval, "it waits for an approval"
	case m.Pending:
		return snapshot.OutcomePending, ""
	case m.Failed != "":
		return snapshot.OutcomeFailed, m.Failed
	}
	return snapshot.OutcomeConnected, ""
}

// tools are those that can be called.
func (m *mcpServer) tools() []workspace.MCPTool {
	list := []workspace.MCPTool{}
	if outcome, _ := m.outcome(); outcome != snapshot.OutcomeConnected {
		return list
	}
	for i := range m.Tools {
		t := &m.Tools[i]
		tool := workspace.MCPTool{
			ServerName: m.Name, Name: m.Name + "__" + t.Name, Title: t.Title, Description: t.Description, Annotations: t.Annotations,
			InputSchema: t.InputSchema, Schema: json.RawMessage("{}"), Required: []string{},
		}
		if tool.InputSchema == nil {
			tool.InputSchema = json.RawMessage(`{"type":"object"}`)
		}
		var schema struct {
			Properties json.RawMessage `json:"properties"`
			Required   []string        `json:"required"`
		}
		if json.Unmarshal(tool.InputSchema, &schema) == nil && schema.Properties != nil {
			tool.Schema = schema.Properties
			tool.Required = append(tool.Required, schema.Required...)
		}
		list = append(list, tool)
	}
	return list
}

// mcpPhase is whether any is pending, or, with a name, that one. The caller has the lock.
func (s *state) mcpPhase(name string) snapshot.Phase {
	for _, m := range s.mcp {
		if outcome, _ := m.outcome(); outcome == snapshot.OutcomePending && (name == "" || m.Name == name) {
			return snapshot.PhasePending
		}
	}
	return snapshot.PhaseComplete
}

// awaitMCP begins a call that waits until no server is pending, or, with a name, that one
// isn't, for as long as d.
func (a *Agent) awaitMCP(ctx context.Context, name string, d time.Duration) error {
	ctx, leave, err := a.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	return a.state.await(ctx, d, func() bool { return a.state.mcpPhase(name) == snapshot.PhaseComplete })
}

// ListMCPTools implements client.Client.
func (a *Agent) ListMCPTools(ctx context.Context, opts client.MCPToolOptions) (*workspace.MCPTools, error) {
	if err := a.awaitMCP(ctx, "", opts.Wait); err != nil {
		return nil, err
	}
	s := a.state
	s.mu.Lock()
	defer s.mu.Unlock()
	list := &workspace.MCPTools{Tools: []workspace.MCPTool{}, Phase: s.mcpPhase(""), Servers: []workspace.MCPServerOutcome{}}
	for _, m := range s.mcp {
		outcome, why := m.outcome()
		list.Tools = append(list.Tools, m.tools()...)
		list.Servers = append(list.Servers, workspace.MCPServerOutcome{Name: m.Name, Outcome: outcome, Error: why})
	}
	return list, nil
}

// SearchMCPTools implements client.Client.
func (a *Agent) SearchMCPTools(ctx context.Context, query string, opts client.MCPSearchOptions) (*workspace.MCPSearch, error) {
	all, err := a.ListMCPTools(ctx, client.MCPToolOptions{})
	if err != nil {
		return nil, err
	}
	words := strings.Fields(strings.ToLower(query))
	matching := func(t *workspace.MCPTool) int {
		n, text := 0, strings.ToLower(t.Name+" "+t.Title+" "+t.Description+" "+string(t.Schema))
		for _, word := range words {
			if strings.Contains(text, word) {
				n++
			}
		}
		return n
	}
	found := &workspace.MCPSearch{Phase: all.Phase, Tools: []workspace.MCPTool{}}
	tools := slices.DeleteFunc(all.Tools, func(t workspace.MCPTool) bool { return len(words) > 0 && matching(&t) == 0 })
	slices.SortStableFunc(tools, func(a, b workspace.MCPTool) int {
		return cmp.Or(matching(&b)-matching(&a), cmp.Compare(a.Name, b.Name))
	})
	const bytesPerToken = 4
	for i := range tools {
		t := &tools[i]
		size := (len(t.Name+t.Title+t.Description) + len(t.InputSchema) + len(t.Annotations) + bytesPerToken - 1) / bytesPerToken
		if len(found.Tools) == cmp.Or(opts.Limit, mcpSearchTools) || found.Tokens+size > cmp.Or(opts.Tokens, mcpSearchTokens) {
			found.Omitted++
			continue
		}
		found.Tools, found.Tokens = append(found.Tools, *t), found.Tokens+size
	}
	return found, nil
}

// CallMCPTool implements client.Client.
func (a *Agent) CallMCPTool(ctx context.Context, call workspace.CallMCPTool, progress func(workspace.MCPProgress)) (*workspace.MCPToolResult, error) {
	const message = "the tool was not called"
	ctx, leave, err := a.act(ctx, scopeMCP)
	if err != nil {
		return nil, err
	}
	defer leave()
	server, name, _ := strings.Cut(call.ToolName, "__")
	arguments := bytes.TrimSpace(call.Arguments)
	switch {
	case server == "" || name == "":
		return nil, refuse(http.StatusBadRequest, message, "tool_name is SERVER__TOOL")
	case len(arguments) == 0 || string(arguments) == "null":
		arguments = []byte("{}")
	case arguments[0] != '{' || !json.Valid(arguments):
		return nil, refuse(http.StatusBadRequest, message, "arguments is a JSON object")
	}
	tool, err := a.mcpTool(server, name)
	if err != nil {
		return nil, err
	}
	result, err := a.runMCP(ctx, tool, arguments, progress)
	var refused *client.Error
	switch {
	case err == nil:
		return a.state.answerMCP(result)
	case ctx.Err() != nil || errors.As(err, &refused):
		return nil, err
	}
	return nil, refuse(http.StatusBadGateway, message, err.Error())
}

// mcpTool finds a tool that can be called, and counts the call.
func (a *Agent) mcpTool(server, name string) (*MCPTool, error) {
	a.state.mu.Lock()
	defer a.state.mu.Unlock()
	m, err := a.state.mcpServer(server)
	if err != nil {
		return nil, err
	}
	outcome, why := m.outcome()
	i := slices.IndexFunc(m.Tools, func(t MCPTool) bool { return t.Name == name })
	switch {
	case outcome == snapshot.OutcomeNeedsApproval || outcome == snapshot.OutcomeSwitchedOff:
		return nil, refuse(http.StatusForbidden, "the tool was not called", why)
	case outcome != snapshot.OutcomeConnected:
		return nil, refuse(http.StatusBadGateway, "the tool was not called", cmp.Or(why, "the server wasn't there in time"))
	case i < 0:
		return nil, refuse(http.StatusBadGateway, "the tool was not called", fmt.Sprintf("the server %s has no tool %q", server, name))
	}
	m.calls++
	return &m.Tools[i], nil
}

// runMCP runs a tool, and hands its progress on by this goroutine.
func (a *Agent) runMCP(ctx context.Context, tool *MCPTool, arguments json.RawMessage, progress func(workspace.MCPProgress)) (*workspace.MCPToolResult, error) {
	var result *workspace.MCPToolResult
	var err error
	steps, done := make(chan workspace.MCPProgress), make(chan struct{})
	over := make(chan struct{}) // closed when nobody takes steps any more
	defer close(over)
	a.state.work.Go(func() {
		defer close(done)
		result, err = tool.Call(ctx, arguments, func(p workspace.MCPProgress) {
			select {
			case steps <- p:
			case <-over:
			}
		})
	})
	for {
		select {
		case p := <-steps:
			if progress != nil {
				progress(p)
			}
		case <-done:
			return result, err
		case <-ctx.Done():
			return nil, ended(ctx)
		}
	}
}

// answerMCP is a result as it is answered: with so much of it as may be at once.
func (s *state) answerMCP(result *workspace.MCPToolResult) (*workspace.MCPToolResult, error) {
	answer := workspace.MCPToolResult{Content: []workspace.MCPContent{}}
	if result != nil {
		answer = *result
		answer.Content = append([]workspace.MCPContent{}, result.Content...)
	}
	whole, err := json.Marshal(&answer)
	if err != nil || len(whole) <= defaults.MCPResultBytes {
		return &answer, err
	}
	id := uuid.NewString()
	s.mu.Lock()
	s.mcpResults[id] = string(whole)
	s.mu.Unlock()
	half := defaults.MCPResultBytes / 2 / max(len(answer.Content), 1)
	for i := range answer.Content {
		c := &answer.Content[i]
		if n := len(c.Text); n > 2*half {
			c.Text = strings.ToValidUTF8(c.Text[:half], "") + fmt.Sprintf("\n\n... [omitted %d bytes] ...\n\n", n-2*half) + strings.ToValidUTF8(c.Text[n-half:], "")
		}
		if len(c.Data) > 2*half {
			*c = workspace.MCPContent{Type: "text", Text: fmt.Sprintf("... [%s %s is omitted] ...", c.MediaType, c.Type)}
		}
	}
	answer.Structured = nil
	kept, err := json.Marshal(&answer)
	answer.Truncated = &workspace.MCPTruncated{ResultID: id, OriginalBytes: int64(len(whole)), RetainedBytes: int64(len(kept))}
	return &answer, err
}

// MCPResult implements client.Client.
func (a *Agent) MCPResult(ctx context.Context, id string, offset, limit int64) (*workspace.MCPResultPage, error) {
	if err := a.asked(ctx); err != nil {
		return nil, err
	}
	a.state.mu.Lock()
	whole, ok := a.state.mcpResults[id]
	a.state.mu.Unlock()
	if !ok {
		return nil, refuse(http.StatusNotFound, "there is nothing to read", "no result of this id is kept")
	}
	from := min(int(max(offset, 0)), len(whole))
	for from < len(whole) && !utf8.RuneStart(whole[from]) {
		from++
	}
	to := min(from+int(max(cmp.Or(limit, mcpPage), utf8.UTFMax)), len(whole))
	for to < len(whole) && !utf8.RuneStart(whole[to]) {
		to--
	}
	return &workspace.MCPResultPage{Text: whole[from:to], NextOffset: int64(to), Length: int64(len(whole))}, nil
}

// MCPServers implements client.Client.
func (a *Agent) MCPServers(ctx context.Context, name string, wait time.Duration) (*workspace.MCPServers, error) {
	if err := a.awaitMCP(ctx, name, wait); err != nil {
		return nil, err
	}
	s := a.state
	s.mu.Lock()
	defer s.mu.Unlock()
	list := &workspace.MCPServers{Phase: s.mcpPhase(name), Servers: []workspace.MCPServer{}, Invalid: []workspace.MCPInvalid{}}
	for _, m := range s.mcp {
		if name == "" || m.Name == name {
			list.Servers = append(list.Servers, m.listed(s.opts.Root))
		}
	}
	return list, nil
}

// listed is a server as it is listed.
func (m *mcpServer) listed(root string) workspace.MCPServer {
	source := path.Join(root, ".mcp.json")
	l := workspace.MCPServer{
		Name: m.Name, ID: "mcp_server:" + source + "#" + m.Name, Source: source, Origin: "workspace", Transport: "stdio", Title: m.Title,
		State: workspace.MCPConfigured, Tools: len(m.tools()), Confined: "none", Calls: m.calls, Restarts: max(m.starts-1, 0),
	}
	l.Outcome, l.Error = m.outcome()
	switch {
	case !m.since.IsZero():
		since := m.since
		l.State, l.StartedAt, l.CatalogueAt = workspace.MCPRunning, &since, &since
	case l.Outcome == snapshot.OutcomePending:
		l.State = workspace.MCPStarting
	}
	return l
}

// MCPServer implements client.Client.
func (a *Agent) MCPServer(ctx context.Context, name string) (*workspace.MCPServerDetail, error) {
	if err := a.asked(ctx); err != nil {
		return nil, err
	}
	s := a.state
	s.mu.Lock()
	defer s.mu.Unlock()
	m, err := s.mcpServer(name)
	if err != nil {
		return nil, err
	}
	d := &workspace.MCPServerDetail{
		MCPServer: m.listed(s.opts.Root), Command: "fake", Definition: m.definition, Local: localOf(m), Pinned: "full",
		May: []string{"It may do what its functions do: the fake confines nothing."}, Tools: m.tools(),
	}
	if d.Outcome == snapshot.OutcomeConnected {
		d.Instructions = m.Instructions
	}
	switch {
	case m.decision != "":
		d.Approval = &workspace.MCPApproval{By: "user", Denied: m.decision == "deny"}
	case m.Approved:
		d.Approval = &workspace.MCPApproval{By: "operator"}
	}
	return d, nil
}

// localOf is this machine's digest of a server.
func localOf(m *mcpServer) string { return "hmac-" + m.definition }

// mcpServer finds a server. The caller has the lock.
func (s *state) mcpServer(name string) (*mcpServer, error) {
	i := slices.IndexFunc(s.mcp, func(m *mcpServer) bool { return m.Name == name })
	if i < 0 {
		return nil, refuse(http.StatusNotFound, "no such server", "no configuration file has a server called "+name)
	}
	return s.mcp[i], nil
}

// actMCP does something to a server.
func (a *Agent) actMCP(ctx context.Context, scope, name string, do func(m *mcpServer) error) error {
	_, leave, err := a.act(ctx, scope)
	if err != nil {
		return err
	}
	defer leave()
	s := a.state
	s.mu.Lock()
	m, err := s.mcpServer(name)
	if err == nil {
		err = do(m)
	}
	if err == nil {
		m.start()
	}
	s.mu.Unlock()
	s.changed.Notify()
	return err
}

// ApproveMCPServer implements client.Client. A widening is of no use here.
func (a *Agent) ApproveMCPServer(ctx context.Context, name string, approval workspace.ApproveMCPServer) error {
	return a.actMCP(ctx, scopeApprove, name, func(m *mcpServer) error {
		if approval.Definition != m.definition || approval.Local != localOf(m) || approval.Held != "" { // the fake holds nothing back
			return refuse(http.StatusConflict, "the server was not approved", "it isn't what was looked at any more")
		}
		m.decision = "approve"
		return nil
	})
}

// DenyMCPServer implements client.Client.
func (a *Agent) DenyMCPServer(ctx context.Context, name string) error {
	return a.actMCP(ctx, scopeApprove, name, func(m *mcpServer) error {
		m.decision = "deny"
		return nil
	})
}

// RestartMCPServer implements client.Client.
func (a *Agent) RestartMCPServer(ctx context.Context, name string) error {
	return a.actMCP(ctx, scopeMCP, name, func(m *mcpServer) error {
		const message = "the server is as it was"
		switch outcome, why := m.outcome(); outcome {
		case snapshot.OutcomeConnected:
			m.since = time.Time{}
			return nil
		case snapshot.OutcomeNeedsApproval, snapshot.OutcomeSwitchedOff:
			return refuse(http.StatusConflict, message, why)
		default:
			return refuse(http.StatusBadGateway, message, cmp.Or(why, "it hasn't come back yet"))
		}
	})
}

// LoginMCPServer implements client.Client. No server of the fake asks for signing in.
func (a *Agent) LoginMCPServer(ctx context.Context, name string, _ workspace.LoginMCPServer) (*workspace.MCPLogin, error) {
	return nil, a.actMCP(ctx, scopeApprove, name, func(*mcpServer) error {
		return refuse(http.StatusConflict, "nobody was signed in", "the server asks for no signing in")
	})
}

// MCPLogs implements client.Client.
func (a *Agent) MCPLogs(ctx context.Context, name string, opts client.MCPLogOptions) (*workspace.MCPLog, error) {
	ctx, leave, err := a.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	a.state.mu.Lock()
	m, err := a.state.mcpServer(name)
	a.state.mu.Unlock()
	if err != nil {
		return nil, err
	}
	text, at, next := m.log.Read(ctx, max(opts.Offset, 0), opts.Limit, opts.Wait)
	if ctx.Err() != nil {
		return nil, ended(ctx)
	}
	return &workspace.MCPLog{Text: text, Offset: at, NextOffset: next}, nil
}
