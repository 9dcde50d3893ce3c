package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"waymark/agentapi"
	"waymark/internal/httpapi/apiclient"
)

// MCP has the calls about the MCP servers that a workspace configures. 404 says that there
// is no such server. Calls and restarts need a token with the scope "mcp"; approvals,
// denials and sign-ins need "approve".
type MCP interface {
	// ListMCPTools lists the tools that can be called now. While Phase is pending, more may
	// follow.
	ListMCPTools(ctx context.Context, opts MCPToolOptions) (*agentapi.MCPTools, error)
	// SearchMCPTools finds tools by words in their names, descriptions and parameters, best
	// first.
	SearchMCPTools(ctx context.Context, query string, opts MCPSearchOptions) (*agentapi.MCPSearch, error)
	// CallMCPTool calls a tool by its name, server__tool, and starts the server if it
	// doesn't run. If progress isn't nil, the calling goroutine calls it with the server's
	// progress messages, in order. A failure of the tool is not an error; it sets IsError
	// in the result. 400: invalid name. 403: the token is fenced, or the server or tool may
	// not be called. 404: no such server. 502: the server doesn't answer.
	CallMCPTool(ctx context.Context, call agentapi.CallMCPTool, progress func(agentapi.MCPProgress)) (*agentapi.MCPToolResult, error)
	// AskMCPServer lists, reads or completes resources and prompts of a server. The errors are
	// those of CallMCPTool.
	AskMCPServer(ctx context.Context, request agentapi.MCPRequest) (json.RawMessage, error)
	// MCPResult returns a piece of a result that was too long for its answer. offset and
	// limit are in bytes; limit 0 means the agent's own. 404 says that it isn't kept any
	// more.
	MCPResult(ctx context.Context, id string, offset, limit int64) (*agentapi.MCPResultPage, error)

	// MCPServers lists the servers, ordered by name. It waits up to wait until none is
	// pending, and then returns the current state. With a name it waits for that server and
	// lists only it.
	MCPServers(ctx context.Context, name string, wait time.Duration) (*agentapi.MCPServers, error)
	// MCPServer returns the details of a server.
	MCPServer(ctx context.Context, name string) (*agentapi.MCPServerDetail, error)
	// ApproveMCPServer approves a server with exactly these digests. 409 says that it has
	// changed.
	ApproveMCPServer(ctx context.Context, name string, approval agentapi.ApproveMCPServer) error
	// DenyMCPServer forbids starting a server in its current form, and ends it.
	DenyMCPServer(ctx context.Context, name string) error
	// RestartMCPServer ends a server if it runs, and connects it again, ignoring the pause
	// after a failure. It doesn't approve the server: 409 says that an approval is missing.
	RestartMCPServer(ctx context.Context, name string) error
	// LoginMCPServer starts a sign-in to a server, completes it, or forgets it. 409 says
	// that the server requires no sign-in.
	LoginMCPServer(ctx context.Context, name string, login agentapi.LoginMCPServer) (*agentapi.MCPLogin, error)
	// MCPLogs returns a server's standard error and its events; see also [FollowMCPLogs].
	MCPLogs(ctx context.Context, name string, opts MCPLogOptions) (*agentapi.MCPLog, error)
}

// MCPToolOptions configure a list of tools. The zero value lists the known tools.
type MCPToolOptions struct {
	// Wait is how long to wait for pending servers.
	Wait time.Duration
	// Refresh makes the agent ask the servers again.
	Refresh bool
}

// MCPSearchOptions limit a search. 0 means the agent's own limit.
type MCPSearchOptions struct {
	// Tokens limits the approximate number of tokens of all tools together, Limit the
	// number of tools.
	Tokens, Limit int
}

// MCPLogOptions select a part of a log. The zero value selects the beginning.
type MCPLogOptions struct {
	// Offset counts bytes since the agent's start.
	Offset int64
	// Limit is in bytes; 0 is the agent's own limit.
	Limit int
	// Wait is how long to wait for output.
	Wait time.Duration
}

const (
	// maxMCPWait is the longest time to connect servers: the maximum of
	// mcp.connect_timeout.
	maxMCPWait = 10 * time.Minute
	// maxMCPCall is the maximum of mcp.call_timeout, plus the time to start the server.
	maxMCPCall = time.Hour + maxMCPWait
	// maxMCPEvent limits an event of a call, like any answer.
	maxMCPEvent = 64 << 20
)

func (a *agent) ListMCPTools(ctx context.Context, opts MCPToolOptions) (*agentapi.MCPTools, error) {
	r := apiclient.Get(agentapi.PathMCPTools)
	r.Query = url.Values{}
	if opts.Refresh {
		r.Query.Set("refresh", "true")
		r.Wait = maxMCPWait
	}
	waits(&r, opts.Wait)
	return apiclient.Fetch[agentapi.MCPTools](ctx, a.api, r)
}

// waits makes a request wait.
func waits(r *apiclient.Request, wait time.Duration) {
	if wait > 0 {
		r.Query.Set("wait", wait.String())
		r.Wait = max(r.Wait, wait)
	}
}

func (a *agent) SearchMCPTools(ctx context.Context, query string, opts MCPSearchOptions) (*agentapi.MCPSearch, error) {
	r := apiclient.Get(agentapi.PathMCPSearch)
	r.Query = url.Values{"q": {query}}
	setNumber(r.Query, "tokens", int64(opts.Tokens))
	setNumber(r.Query, "limit", int64(opts.Limit))
	return apiclient.Fetch[agentapi.MCPSearch](ctx, a.api, r)
}

func (a *agent) AskMCPServer(ctx context.Context, request agentapi.MCPRequest) (json.RawMessage, error) {
	r := post(agentapi.PathMCPRequest, request)
	r.Wait = maxMCPCall
	answer, err := apiclient.Fetch[agentapi.MCPAnswer](ctx, a.api, r)
	if err != nil {
		return nil, err
	}
	return answer.Result, nil
}

func (a *agent) CallMCPTool(ctx context.Context, call agentapi.CallMCPTool, progress func(agentapi.MCPProgress)) (*agentapi.MCPToolResult, error) {
	if len(bytes.TrimSpace(call.Arguments)) == 0 {
		call.Arguments = nil // which means no arguments
	}
	r := post(agentapi.PathMCPCallTool, call)
	r.Wait = maxMCPCall
	if progress == nil {
		return apiclient.Fetch[agentapi.MCPToolResult](ctx, a.api, r)
	}
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, a.opts.Timeout+r.Wait)
		defer cancel()
	}
	api := a.api.With(http.Header{"Accept": {"text/event-stream"}})
	answer, err := api.Open(ctx, r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	c := called{progress: progress}
	if err := apiclient.ReadEvents(answer.Body, maxMCPEvent, c.take); err != nil {
		return nil, api.Unreachable(ctx, err)
	}
	return c.result, c.err
}

// resultPage is how much of a long result WholeMCPResult requests at once, in bytes.
const resultPage = 1 << 20

// WholeMCPResult reads a result that was too long for one answer, by the id in its Truncated.
func WholeMCPResult(ctx context.Context, c Client, id string) (*agentapi.MCPToolResult, error) {
	var text bytes.Buffer
	for offset := int64(0); ; {
		page, err := c.MCPResult(ctx, id, offset, resultPage)
		if err != nil {
			return nil, err
		}
		text.WriteString(page.Text)
		if page.NextOffset >= page.Length || page.NextOffset <= offset {
			break
		}
		offset = page.NextOffset
	}
	result := new(agentapi.MCPToolResult)
	if err := json.Unmarshal(text.Bytes(), result); err != nil {
		return nil, fmt.Errorf("the whole result can't be read: %w", err)
	}
	return result, nil
}

// called is the outcome of a call.
type called struct {
	progress func(agentapi.MCPProgress)
	result   *agentapi.MCPToolResult
	err      error
}

// take handles an event, and reports whether more may follow. It skips unknown types, which
// a newer agent may send.
func (c *called) take(e apiclient.Event) (more bool) {
	var err error
	switch e.Type {
	case agentapi.MCPEventProgress:
		var p agentapi.MCPProgress
		if err = json.Unmarshal([]byte(e.Data), &p); err == nil {
			c.progress(p)
		}
		more = true
	case agentapi.MCPEventLog:
		p := agentapi.MCPProgress{Log: new(agentapi.MCPLogMessage)}
		if err = json.Unmarshal([]byte(e.Data), p.Log); err == nil {
			c.progress(p)
		}
		more = true
	case agentapi.MCPEventResult:
		c.result = new(agentapi.MCPToolResult)
		err = json.Unmarshal([]byte(e.Data), c.result)
	case agentapi.MCPEventError:
		var refused agentapi.MCPCallError
		if err = json.Unmarshal([]byte(e.Data), &refused); err == nil {
			c.err = &Error{Code: refused.Code, Message: refused.Message, Detail: refused.Detail, Cause: refused.Cause}
		}
	default:
		return true
	}
	if err != nil {
		c.result, c.err = nil, fmt.Errorf("the agent's %s event can't be read: %w", e.Type, err)
	}
	return more && err == nil
}

func (a *agent) MCPResult(ctx context.Context, id string, offset, limit int64) (*agentapi.MCPResultPage, error) {
	r := apiclient.Get(agentapi.PathMCPResults + "/" + url.PathEscape(id))
	r.Query = url.Values{}
	setNumber(r.Query, "offset", offset)
	setNumber(r.Query, "limit", limit)
	return apiclient.Fetch[agentapi.MCPResultPage](ctx, a.api, r)
}

func (a *agent) MCPServers(ctx context.Context, name string, wait time.Duration) (*agentapi.MCPServers, error) {
	r := apiclient.Get(agentapi.PathMCPServers)
	r.Query = url.Values{"name": {name}}
	waits(&r, wait)
	return apiclient.Fetch[agentapi.MCPServers](ctx, a.api, r)
}

func mcpServer(name, what string) string {
	path := agentapi.PathMCPServers + "/" + url.PathEscape(name)
	if what != "" {
		path += "/" + what
	}
	return path
}

func (a *agent) MCPServer(ctx context.Context, name string) (*agentapi.MCPServerDetail, error) {
	return apiclient.Fetch[agentapi.MCPServerDetail](ctx, a.api, apiclient.Get(mcpServer(name, "")))
}

// actMCP returns a request that acts on a server. It may take as long as connecting.
func (a *agent) actMCP(name, what string, body any) apiclient.Request {
	r := post(mcpServer(name, what), body)
	r.Wait = maxMCPWait
	return r
}

func (a *agent) ApproveMCPServer(ctx context.Context, name string, approval agentapi.ApproveMCPServer) error {
	return a.api.Send(ctx, a.actMCP(name, "approve", approval))
}

func (a *agent) DenyMCPServer(ctx context.Context, name string) error {
	return a.api.Send(ctx, a.actMCP(name, "deny", nil))
}

func (a *agent) RestartMCPServer(ctx context.Context, name string) error {
	return a.api.Send(ctx, a.actMCP(name, "restart", nil))
}

func (a *agent) LoginMCPServer(ctx context.Context, name string, login agentapi.LoginMCPServer) (*agentapi.MCPLogin, error) {
	return apiclient.Fetch[agentapi.MCPLogin](ctx, a.api, a.actMCP(name, "login", login))
}

func (a *agent) MCPLogs(ctx context.Context, name string, opts MCPLogOptions) (*agentapi.MCPLog, error) {
	r := apiclient.Get(mcpServer(name, "logs"))
	r.Query = url.Values{}
	setNumber(r.Query, "offset", opts.Offset)
	setNumber(r.Query, "limit", int64(opts.Limit))
	if opts.Wait > 0 {
		r.Query.Set("wait_ms", strconv.FormatInt(max(opts.Wait.Milliseconds(), 1), 10))
		r.Wait = opts.Wait
	}
	return apiclient.Fetch[agentapi.MCPLog](ctx, a.api, r)
}

// FollowMCPLogs yields a server's standard error and its events from an offset until ctx
// ends. An *OmittedError takes the place of lost bytes. If the connection to the agent is
// lost, it yields one error and, if the loop continues, waits for the agent's return. A
// restarted agent begins a new log. A refusal of the agent, and the absence of any agent at
// the beginning, are the last value.
func FollowMCPLogs(ctx context.Context, c Client, name string, offset int64) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		f := logFollower{client: c, name: name, offset: offset}
		for page, err := range apiclient.Follow(ctx, followRetry, f.next) {
			if err != nil {
				if !yield("", err) {
					return
				}
				continue
			}
			if f.omitted > 0 && !yield("", &OmittedError{f.omitted}) || !yield(page.Text, nil) {
				return
			}
		}
	}
}

// logFollower is the state of a FollowMCPLogs.
type logFollower struct {
	client  Client
	name    string
	offset  int64
	omitted int64 // bytes lost before the last page
}

// next waits for the next page.
func (f *logFollower) next(ctx context.Context, c *apiclient.Connection[*agentapi.MCPLog]) error {
	page, err := f.client.MCPLogs(ctx, f.name, MCPLogOptions{Offset: f.offset, Limit: followPage, Wait: followWait})
	if err != nil {
		return err
	}
	c.Open()
	if page.NextOffset < f.offset { // a new agent's log, which counts from 0
		f.offset = 0
		return nil
	}
	f.omitted = max(page.Offset-f.offset, 0)
	f.offset = page.NextOffset
	if page.Text != "" {
		c.Yield(page)
	}
	return nil
}
