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

// MCP are the calls about the MCP servers that a workspace configures. 404 says
// that there is no such server. Calls and restarts need a token with the scope
// "mcp"; approvals, denials and signing in one with "approve".
type MCP interface {
	// ListMCPTools lists the tools that can be called now. While Phase is pending
	// there may be more to come.
	ListMCPTools(ctx context.Context, opts MCPToolOptions) (*agentapi.MCPTools, error)
	// SearchMCPTools finds tools by words of their names, descriptions and
	// parameters, the best first.
	SearchMCPTools(ctx context.Context, query string, opts MCPSearchOptions) (*agentapi.MCPSearch, error)
	// CallMCPTool calls a tool by its name, server__tool, and starts the server where
	// it doesn't run. progress, if not nil, is told what the server says meanwhile, in
	// order, by the calling goroutine. That the tool has failed is no error but
	// IsError of the result. A name that can't be one: 400; a fenced token, or a
	// server or a tool that may not be called: 403; no such server: 404; no answer
	// from it: 502.
	CallMCPTool(ctx context.Context, call agentapi.CallMCPTool, progress func(agentapi.MCPProgress)) (*agentapi.MCPToolResult, error)
	// MCPResult returns a piece of a result that was too long for its answer, from an
	// offset in bytes on, limit at most; 0 is the agent's own limit. 404 says that it
	// isn't kept any more.
	MCPResult(ctx context.Context, id string, offset, limit int64) (*agentapi.MCPResultPage, error)

	// MCPServers lists the servers in order of names. With wait it waits as long until
	// none is pending; what is there in the end is returned. With a name it waits for
	// that server alone, and lists no other; empty is none.
	MCPServers(ctx context.Context, name string, wait time.Duration) (*agentapi.MCPServers, error)
	// MCPServer returns all that there is to know of a server.
	MCPServer(ctx context.Context, name string) (*agentapi.MCPServerDetail, error)
	// ApproveMCPServer lets a server start as it is, by its digests. 409 says that it
	// is another one by now.
	ApproveMCPServer(ctx context.Context, name string, approval agentapi.ApproveMCPServer) error
	// DenyMCPServer keeps a server, as it is, from starting, and ends it.
	DenyMCPServer(ctx context.Context, name string) error
	// RestartMCPServer ends a server, if it runs, and connects it again, without
	// waiting for what it failed with before. It is no approval: 409 where that is
	// missing.
	RestartMCPServer(ctx context.Context, name string) error
	// LoginMCPServer begins to sign in to a server, ends that, or forgets it. 409 says
	// that the server asks for no signing in.
	LoginMCPServer(ctx context.Context, name string, login agentapi.LoginMCPServer) (*agentapi.MCPLogin, error)
	// MCPLogs returns what a server has written to its standard error, and what has
	// happened to it; see also [FollowMCPLogs].
	MCPLogs(ctx context.Context, name string, opts MCPLogOptions) (*agentapi.MCPLog, error)
}

// MCPToolOptions say which list of tools is wanted. The zero value wants what is
// known.
type MCPToolOptions struct {
	// Wait is how long to wait for servers that are pending.
	Wait time.Duration
	// Refresh asks the servers again.
	Refresh bool
}

// MCPSearchOptions bound a search. What is zero is the agent's own limit.
type MCPSearchOptions struct {
	// Tokens is about how many tokens all tools may take, Limit how many there are
	// at most.
	Tokens, Limit int
}

// MCPLogOptions say which part of a log is wanted. The zero value wants the
// beginning of what there is.
type MCPLogOptions struct {
	// Offset counts bytes since the agent's start.
	Offset int64
	// Limit is in bytes; 0 is the agent's own limit.
	Limit int
	// Wait is how long to wait for a byte.
	Wait time.Duration
}

const (
	// maxMCPWait is how long the agent takes at most to connect servers: the longest
	// that mcp.connect_timeout can be.
	maxMCPWait = 10 * time.Minute
	// maxMCPCall is the longest that mcp.call_timeout can be, with a start before it.
	maxMCPCall = time.Hour + maxMCPWait
	// maxMCPEvent bounds an event of a call: a result, as an answer is bounded.
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

// waits has a request wait.
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

func (a *agent) CallMCPTool(ctx context.Context, call agentapi.CallMCPTool, progress func(agentapi.MCPProgress)) (*agentapi.MCPToolResult, error) {
	if len(bytes.TrimSpace(call.Arguments)) == 0 {
		call.Arguments = nil // which is sent as none
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

// called is what has come of a call.
type called struct {
	progress func(agentapi.MCPProgress)
	result   *agentapi.MCPToolResult
	err      error
}

// take handles an event, and reports whether another may come. Types that this
// client doesn't know are skipped: a newer agent may have more.
func (c *called) take(e apiclient.Event) (more bool) {
	var err error
	switch e.Type {
	case agentapi.MCPEventProgress:
		var p agentapi.MCPProgress
		if err = json.Unmarshal([]byte(e.Data), &p); err == nil {
			c.progress(p)
		}
		more = true
	case agentapi.MCPEventResult:
		c.result = new(agentapi.MCPToolResult)
		err = json.Unmarshal([]byte(e.Data), c.result)
	case agentapi.MCPEventError:
		var refused agentapi.MCPCallError
		if err = json.Unmarshal([]byte(e.Data), &refused); err == nil {
			c.err = &Error{Code: refused.Code, Message: refused.Message, Detail: refused.Detail}
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

// actMCP has something done to a server, which may take as long as connecting it.
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

// FollowMCPLogs yields what a server writes to its standard error, and what happens
// to it, from an offset on, until ctx ends. An *OmittedError stands where bytes are
// gone. When the agent is lost it yields an error, once, and, if the loop goes on,
// waits for its return; an agent that was restarted begins a new log. What the
// agent refuses, and that there is no agent at all, is the last thing it yields.
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

// logFollower is where one FollowMCPLogs stands.
type logFollower struct {
	client  Client
	name    string
	offset  int64
	omitted int64 // before the page that was yielded last, in bytes
}

// next waits for the next page.
func (f *logFollower) next(ctx context.Context, c *apiclient.Connection[*agentapi.MCPLog]) error {
	page, err := f.client.MCPLogs(ctx, f.name, MCPLogOptions{Offset: f.offset, Limit: followPage, Wait: followWait})
	if err != nil {
		return err
	}
	c.Open()
	if page.NextOffset < f.offset { // another agent's, which counts anew
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
