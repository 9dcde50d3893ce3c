package mcp

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"waymark/abi"
	"waymark/agentapi"
	"waymark/internal/httpapi"
	"waymark/internal/httpapi/problem"
	"waymark/snapshot"
	"waymark/workspace/access"
	"waymark/workspace/launch"
	"waymark/workspace/mcp/catalog"
)

const (
	// maxWait limits ?wait= and ?wait_ms=.
	maxWait = 5 * time.Minute
	// maxWaits limits the concurrent calls that wait, so that connections remain for other
	// requests.
	maxWaits = 64
	// Limits of pages, in bytes.
	defaultPage = 64 << 10
	maxPage     = 1 << 20
	// maxFound limits the results of a search.
	maxFound = 1000
)

// Parameters of the routes, for the OpenAPI document.
type (
	// waitParams belong to answers that may be pending.
	waitParams struct {
		// How long to wait until nothing is pending, for example "30s"; at most 5 minutes.
		// Only in Waymark.
		Wait string `query:"wait" example:"30s"`
		// The ETag that the client has.
		Known string `header:"If-None-Match"`
	}
	toolsParams struct {
		// "true" asks all servers that may run again, and retries those that have failed.
		Again string `query:"refresh" enum:"true,false"`
		waitParams
	}
	searchParams struct {
		// The words to search for.
		Query string `query:"q"`
		// The approximate number of tokens that the tools may take. A token counts as four
		// bytes.
		Budget int `query:"tokens" minimum:"0" default:"8000"`
		// The maximum number of tools.
		Most int `query:"limit" minimum:"0" maximum:"1000" default:"20"`
		// The ETag that the client has.
		Known string `header:"If-None-Match"`
	}
	resultParams struct {
		// The result_id of the truncated result.
		ID string `path:"id"`
		pageParams
	}
	pageParams struct {
		// Where to begin, in bytes. Offsets of a log count from the agent's start.
		Begin int64 `query:"offset" minimum:"0" default:"0"`
		// The maximum length, in bytes.
		Most int64 `query:"limit" minimum:"1" maximum:"1048576" default:"65536"`
	}
	serversParams struct {
		waitParams
		// Waits for the server of this name, and lists only that one.
		Only string `query:"name"`
	}
	serverParams struct {
		// The server's name in its file.
		Server string `path:"name"`
	}
	logParams struct {
		serverParams
		pageParams
		// How long to wait for more output, in milliseconds; at most 5 minutes.
		Wait int64 `query:"wait_ms" minimum:"0"`
	}
	// fresh are the headers of answers that may be pending.
	fresh struct {
		// Only if the answer is complete.
		ETag string `header:"ETag"`
		// "no-store" while something is pending.
		Cache string `header:"Cache-Control"`
	}
)

// answersFresh returns the documentation of an answer that may be pending.
func answersFresh(text string, body, example any) []httpapi.Answer {
	return []httpapi.Answer{
		{Code: http.StatusOK, Text: text, Body: body, Headers: fresh{}, Example: example},
		{Code: http.StatusNotModified, Text: "It is what `If-None-Match` names."},
	}
}

// Service returns the routes and their documentation.
func (s *Service) Service() httpapi.Service {
	const mcp, approve = string(access.ScopeMCP), string(access.ScopeApprove)
	one := agentapi.PathMCPServers + "/{name}"
	const server = "the server is as it was"
	example := agentapi.MCPTool{
		ServerName: "github", Name: "github__search", Description: "Search issues.", Required: []string{"query"}, Schema: json.RawMessage(`{"query":{"type":"string"}}`),
		InputSchema: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string"}},"required":["query"]}`),
	}
	list := []httpapi.Route{
		{Method: http.MethodGet, Pattern: agentapi.PathMCPTools, Handle: s.listTools, Failed: "the tools are not known", Operation: &httpapi.Operation{
			ID: "listMCPTools", Summary: "Tools that can be called", Params: toolsParams{},
			Text: "Those of all servers that run or whose tools are known from before, as far as they are approved and the configuration leaves them. An answer whose phase is `pending` is never to be cached: ask again, or with `wait`. A server that needs an approval doesn't keep a phase from being complete.",
			Answers: answersFresh("The tools there are.", agentapi.MCPTools{}, agentapi.MCPTools{
				Tools: []agentapi.MCPTool{example}, Phase: snapshot.PhaseComplete, Servers: []agentapi.MCPServerOutcome{{Name: "github", Outcome: snapshot.OutcomeConnected}},
			}),
			Errors: []int{http.StatusBadRequest, http.StatusTooManyRequests},
		}},
		{Method: http.MethodPost, Pattern: agentapi.PathMCPCallTool, Scope: mcp, Effect: httpapi.Acts, Handle: s.call, Failed: "the tool was not called", MaxBody: maxCallBody, Untyped: true, Operation: &httpapi.Operation{
			ID: "callMCPTool", Summary: "Call a tool", Params: agentapi.CallerParams{},
			Text: "A server that doesn't run is started. Values that it was given are taken out of what it answers. A result that is too long has its beginning and its end, and the whole is kept for a while.\n\nWaymark's: a request that accepts `text/event-stream` is answered with events: any number of `progress` (`MCPProgress`) and `log` (`MCPLogMessage`), and then one `result` (`MCPToolResult`) or one `error` (`MCPCallError`). The call ends with its request, unless its result is what the server asks: then it waits for another request with `state` and `answers`.",
			Body: agentapi.CallMCPTool{}, Example: agentapi.CallMCPTool{ToolName: "github__search", Arguments: json.RawMessage(`{"query":"is:open"}`)},
			Answers: []httpapi.Answer{
				{
					Code: http.StatusOK, Text: "What the tool has answered.", Body: httpapi.Contents{agentapi.MCPToolResult{}, httpapi.Content("text/event-stream")},
					Example: agentapi.MCPToolResult{Content: []agentapi.MCPContent{{Type: "text", Text: "3 issues"}}},
				},
				httpapi.Refuse(http.StatusForbidden, "The token doesn't allow it, or the server or its tool may not be called: it waits for an approval or for signing in, is switched off or denied, isn't among those that are connected, or has changed since it was approved. `detail` says which.", ""),
				httpapi.Refuse(http.StatusBadGateway, "The server can't be started, has no such tool, or hasn't answered; `detail` says which.", ""),
			},
			Errors: []int{http.StatusNotFound, http.StatusTooManyRequests},
		}},
		{Method: http.MethodPost, Pattern: agentapi.PathMCPRequest, Scope: mcp, Effect: httpapi.Acts, Handle: s.request, Failed: "the server was not asked", MaxBody: maxCallBody, Operation: &httpapi.Operation{
			ID: "askMCPServer", Summary: "List, read or complete a server's resources and prompts", Params: agentapi.CallerParams{},
			Text: "One of the requests of MCP that `method` has. The result is the server's, without the values that it was given. A token with a list of tools needs one that has all tools of the server.",
			Body: agentapi.MCPRequest{}, Example: agentapi.MCPRequest{Server: "docs", Method: catalog.ReadResource, Params: json.RawMessage(`{"uri":"docs://start"}`)},
			Answers: []httpapi.Answer{
				httpapi.OK("The server's result.", agentapi.MCPAnswer{}),
				httpapi.Refuse(http.StatusForbidden, "The token doesn't allow it, or the server may not run; `detail` says which.", ""),
				httpapi.Refuse(http.StatusBadGateway, "The server can't be started, offers no such thing, or hasn't answered; `detail` says which.", ""),
			},
			Errors: []int{http.StatusBadRequest, http.StatusNotFound, http.StatusTooManyRequests},
		}},
		{Method: http.MethodGet, Pattern: agentapi.PathMCPSearch, Handle: s.searchTools, Failed: "the tools are not known", Operation: &httpapi.Operation{
			ID: "searchMCPTools", Summary: "Tools that match words, the best first", Params: searchParams{},
			Text:    "Words are looked for in names (8 points), titles (4), descriptions (2) and parameters (1); half of that for a word that only begins so. A word that few tools have counts more. Of equal ones the order is that of names. Without words all match.",
			Answers: answersFresh("Those that fit.", agentapi.MCPSearch{}, agentapi.MCPSearch{Phase: snapshot.PhaseComplete, Tools: []agentapi.MCPTool{example}, Tokens: 35}),
			Errors:  []int{http.StatusBadRequest},
		}},
		{Method: http.MethodGet, Pattern: agentapi.PathMCPResults + "/{id}", Handle: s.result, Failed: "there is nothing to read", Operation: &httpapi.Operation{
			ID: "readMCPResult", Summary: "A piece of a result that was too long", Params: resultParams{},
			Answers: []httpapi.Answer{
				{Code: http.StatusOK, Text: "It begins and ends with a character.", Body: agentapi.MCPResultPage{}, Example: agentapi.MCPResultPage{Text: `{"content":[`, NextOffset: 12, Length: 90000}},
				httpapi.Refuse(http.StatusNotFound, "No result of this id is kept.", ""),
			},
			Errors: []int{http.StatusBadRequest},
		}},
		{Method: http.MethodGet, Pattern: agentapi.PathMCPServers, Handle: s.listServers, Failed: "the servers are not known", Operation: &httpapi.Operation{
			ID: "listMCPServers", Summary: "Servers that files configure, in order of names", Params: serversParams{},
			Answers: answersFresh("All of them.", agentapi.MCPServers{}, nil),
			Errors:  []int{http.StatusBadRequest, http.StatusTooManyRequests},
		}},
		{Method: http.MethodGet, Pattern: one, Handle: s.named(s.detail), Failed: "the server is not known", Operation: &httpapi.Operation{
			ID: "showMCPServer", Summary: "Everything that an approval is decided by", Text: "The digests are taken anew.", Params: serverParams{},
			Answers: []httpapi.Answer{httpapi.OK("The server.", agentapi.MCPServerDetail{})},
			Errors:  []int{http.StatusBadRequest, http.StatusNotFound},
		}},
		{Method: http.MethodGet, Pattern: one + "/logs", Handle: s.named(s.logs), Failed: "there is no log to show", Operation: &httpapi.Operation{
			ID: "readMCPServerLog", Summary: "What a server has written, and what happened to it", Params: logParams{},
			Text: "Its standard error, lines on its standard output that are no messages, and what happened to it. An offset beyond the end is that of an earlier agent: `next_offset` is the end then, below what was asked for.",
			Answers: []httpapi.Answer{{
				Code: http.StatusOK, Text: "A piece of it.", Body: agentapi.MCPLog{},
				Example: agentapi.MCPLog{Text: "2026-11-22T14:02:00.000Z event  started\n", NextOffset: 40},
			}},
			Errors: []int{http.StatusBadRequest, http.StatusNotFound, http.StatusTooManyRequests},
		}},
		{Method: http.MethodPost, Pattern: one + "/approve", Scope: approve, Effect: httpapi.Acts, Handle: s.named(s.approve), Failed: "the server was not approved", Operation: &httpapi.Operation{
			ID: "approveMCPServer", Summary: "Let a server start as it is", Text: "It returns when the server is connected, or isn't.", Params: serverParams{},
			Body: agentapi.ApproveMCPServer{}, Example: agentapi.ApproveMCPServer{Definition: "sha256:" + strings.Repeat("0a", 32), Local: "hmac:" + strings.Repeat("1b", 32)},
			Answers: []httpapi.Answer{
				{Code: http.StatusNoContent, Text: "It is approved."},
				httpapi.Refuse(http.StatusConflict, "It is another one by now.", ""),
			},
			Errors: []int{http.StatusNotFound},
		}},
		{Method: http.MethodPost, Pattern: one + "/deny", Scope: approve, Effect: httpapi.Acts, Handle: s.named(s.deny), Failed: "the server was not denied", Operation: &httpapi.Operation{
			ID: "denyMCPServer", Summary: "Keep a server, as it is, from starting", Text: "One that runs is ended.", Params: serverParams{},
			Answers: []httpapi.Answer{
				{Code: http.StatusNoContent, Text: "It is denied."},
				httpapi.Refuse(http.StatusConflict, "There is nothing to decide about.", ""),
			},
			Errors: []int{http.StatusBadRequest, http.StatusNotFound},
		}},
		{Method: http.MethodPost, Pattern: one + "/restart", Scope: mcp, Effect: httpapi.Acts, Handle: s.named(s.restart), Failed: server, Operation: &httpapi.Operation{
			ID: "restartMCPServer", Summary: "End a server, if it runs, and connect it again", Params: serverParams{},
			Text: "What it has failed with before is forgotten. It returns when the server is connected, or isn't.",
			Answers: []httpapi.Answer{
				{Code: http.StatusNoContent, Text: "It is connected."},
				httpapi.Refuse(http.StatusConflict, "It may not run: `detail` says what it takes.", ""),
				httpapi.Refuse(http.StatusBadGateway, "It can't be connected.", ""),
			},
			Errors: []int{http.StatusBadRequest, http.StatusNotFound},
		}},
		{Method: http.MethodPost, Pattern: one + "/login", Scope: approve, Effect: httpapi.Acts, Handle: s.named(s.login), Failed: "nobody was signed in", Operation: &httpapi.Operation{
			ID: "loginMCPServer", Summary: "Sign in to a server", Params: serverParams{}, Body: agentapi.LoginMCPServer{}, Optional: true, Example: agentapi.LoginMCPServer{},
			Text: "An empty request begins, and is answered with where somebody signs in. Where the browser can't reach this machine's loopback, the address that it was sent back to ends it, as `redirect`.",
			Answers: []httpapi.Answer{
				{Code: http.StatusOK, Text: "Where to sign in, or that it is done.", Body: agentapi.MCPLogin{}, Example: agentapi.MCPLogin{URL: "https://id.example.com/authorize?state=0a1b"}},
				httpapi.Refuse(http.StatusConflict, "It isn't a server to sign in to.", ""),
				httpapi.Refuse(http.StatusBadGateway, "The server, or who signs in for it, doesn't answer.", ""),
			},
			Errors: []int{http.StatusNotFound},
		}},
	}
	for i := range list {
		list[i].Handle = bodiless(list[i].Handle)
	}
	about := httpapi.AgentAbout("mcp", "MCP servers that the workspace configures, their tools, and what may run. Paths, fields and codes of `tools` and `call-tool` are those of Coder's agent; what only Waymark has says so. No answer has a value of a server's variables or headers.")
	about.Errors = map[int]string{
		http.StatusNotFound:        "No configuration file has a server of this name.",
		http.StatusTooManyRequests: "Too many calls wait already.",
	}
	about.Messages = []any{agentapi.MCPProgress{}, agentapi.MCPCallError{}}
	return httpapi.Service{Routes: list, About: about}
}

// bodiless refuses bodies of GET requests. If they stayed unread, net/http wouldn't notice
// that the client disconnects.
func bodiless(next httpapi.Handler) httpapi.Handler {
	return func(c *httpapi.Call) error {
		if c.Method == http.MethodGet && c.ContentLength != 0 {
			return &problem.Error{Code: http.StatusBadRequest, Message: c.Failed(), Detail: c.Method + " takes no body"}
		}
		return next(c)
	}
}

// named finds the server that the path names.
func (s *Service) named(next func(c *httpapi.Call, srv *server) error) httpapi.Handler {
	return func(c *httpapi.Call) error {
		srv := s.server(c.Context(), c.Arg("name"))
		if srv == nil {
			return &problem.Error{Code: http.StatusNotFound, Message: c.Failed(), Detail: "no configuration file has a server of this name: 'agent mcp list' lists them"}
		}
		return next(c, srv)
	}
}

// waiting waits as long as the request says until nothing is pending; with a name, until
// that server isn't.
func (s *Service) waiting(c *httpapi.Call, name string) error {
	wait, _, err := c.Duration("wait", maxWait)
	if err != nil || wait == 0 {
		return err
	}
	return s.within(c, wait, func(ctx context.Context) error {
		for {
			touched := s.touched.Changed()
			if s.complete(name) {
				return nil
			}
			select {
			case <-touched:
			case <-ctx.Done():
				return nil // answer with the current state
			}
		}
	})
}

// within runs do, which may wait up to d. At most maxWaits calls wait at a time.
func (s *Service) within(c *httpapi.Call, d time.Duration, do func(ctx context.Context) error) error {
	select {
	case s.waits <- struct{}{}:
		defer func() { <-s.waits }()
	default:
		return &problem.Error{Code: http.StatusTooManyRequests, Message: c.Failed(), Detail: "too many calls wait already: ask again later, or without waiting"}
	}
	return c.Within(d, do)
}

// listTools answers GET /api/v0/mcp/tools.
func (s *Service) listTools(c *httpapi.Call) error {
	refresh, err := c.Text("refresh")
	if err != nil {
		return err
	}
	switch refresh {
	case "", "false":
	case "true":
		// Two attempts: the second uses the older protocol.
		if err := s.within(c, 2*s.current().ConnectTimeout+maxWait/10, s.refresh); err != nil && c.Context().Err() == nil && !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
	default:
		return httpapi.BadQuery("refresh is true or false")
	}
	if err := s.waiting(c, ""); err != nil {
		return err
	}
	offers, phase := s.offers()
	return s.send(c, phase, agentapi.MCPTools{Tools: allTools(c, offers), Phase: phase, Servers: outcomes(offers)})
}

// send sends an answer. A complete one may be cached and revalidated by its ETag.
func (s *Service) send(c *httpapi.Call, phase snapshot.Phase, v any) error {
	body, err := httpapi.Encode(v)
	if err != nil {
		return err
	}
	if phase == snapshot.PhaseComplete {
		c.Writer().Header().Set("Cache-Control", "no-cache") // revalidate with the ETag
		sum := sha256.Sum256(body)
		if c.Known(hex.EncodeToString(sum[:16])) {
			return nil
		}
	}
	c.SendEncoded(http.StatusOK, body)
	return nil
}

// allTools returns the tools that the caller may call.
func allTools(c *httpapi.Call, offers []offer) []agentapi.MCPTool {
	list, grant := []agentapi.MCPTool{}, access.From(c.Context())
	for i := range offers {
		list = append(list, catalog.Listed(offers[i].name, offers[i].tools)...)
	}
	return slices.DeleteFunc(list, func(t agentapi.MCPTool) bool { return !grant.Allows(t.Name) })
}

func outcomes(offers []offer) []agentapi.MCPServerOutcome {
	list := make([]agentapi.MCPServerOutcome, 0, len(offers))
	for i := range offers {
		list = append(list, agentapi.MCPServerOutcome{Name: offers[i].name, Outcome: offers[i].outcome, Error: offers[i].why})
	}
	return list
}

// searchTools answers GET /api/v0/mcp/search.
func (s *Service) searchTools(c *httpapi.Call) error {
	query, err := c.Text("q")
	if err != nil {
		return err
	}
	tokens, given, err := c.Number("tokens", 31)
	if err != nil {
		return err
	}
	if !given {
		tokens = catalog.DefaultTokens
	}
	limit, given, err := c.Number("limit", 31)
	if err != nil {
		return err
	}
	if !given {
		limit = catalog.DefaultTools
	}
	offers, phase := s.offers()
	found := catalog.Tools(allTools(c, offers), query, int(tokens), int(min(limit, maxFound)))
	found.Phase = phase
	return s.send(c, phase, found)
}

// result answers GET /api/v0/mcp/results/{id}.
func (s *Service) result(c *httpapi.Call) error {
	offset, err := offsetOf(c)
	if err != nil {
		return err
	}
	limit, err := pageLimit(c)
	if err != nil {
		return err
	}
	page, err := s.results.page(c.Arg("id"), offset, limit)
	if errors.Is(err, fs.ErrNotExist) {
		return &problem.Error{Code: http.StatusNotFound, Message: c.Failed(), Detail: "no result of this id is kept: results are kept for a while, the newest ones"}
	}
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, page)
}

// pageLimit returns the requested maximum length, in bytes.
func pageLimit(c *httpapi.Call) (int64, error) {
	limit, given, err := c.Number("limit", 31)
	if err != nil {
		return 0, err
	}
	if !given {
		return defaultPage, nil
	}
	if limit == 0 {
		return 0, httpapi.BadQuery("limit is in bytes, from 1")
	}
	return int64(min(limit, maxPage)), nil
}

// offsetOf returns the requested offset, in bytes.
func offsetOf(c *httpapi.Call) (int64, error) {
	offset, _, err := c.Number("offset", 63)
	return int64(offset), err //nolint:gosec // of 63 bits
}

// listServers answers GET /api/v0/mcp/servers.
func (s *Service) listServers(c *httpapi.Call) error {
	name, err := c.Text("name")
	if err != nil {
		return err
	}
	if err := s.waiting(c, name); err != nil {
		return err
	}
	status := s.Status()
	if name != "" {
		status.Servers = slices.DeleteFunc(status.Servers, func(m agentapi.MCPServer) bool { return m.Name != name })
		status.Invalid = slices.DeleteFunc(status.Invalid, func(m agentapi.MCPInvalid) bool { return m.Name != name })
		if s.complete(name) {
			status.Phase = snapshot.PhaseComplete
		}
	}
	return s.send(c, status.Phase, status)
}

// Status returns the status of all servers.
func (s *Service) Status() agentapi.MCPServers {
	offers, phase := s.offers()
	list := make([]agentapi.MCPServer, 0, len(offers))
	for i := range offers {
		if offers[i].entry != nil {
			list = append(list, offers[i].server())
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return agentapi.MCPServers{Phase: phase, Servers: list, Invalid: append([]agentapi.MCPInvalid{}, s.invalid...)}
}

// server returns the list entry of a server.
func (o *offer) server() agentapi.MCPServer {
	m := agentapi.MCPServer{
		Name: o.name, ID: string(abi.KindMCPServer) + ":" + o.entry.Source + "#" + o.name, Source: o.entry.Source, Origin: string(o.entry.Origin),
		Transport: o.entry.Transport, Title: o.title(), State: o.state, Outcome: o.outcome, Error: o.why,
		Tools: len(o.tools), Findings: len(o.findings), Calls: o.calls, Restarts: o.restarts, StartedAt: some(o.startedAt), RetryAt: some(o.retryAt),
	}
	if o.known != nil {
		m.Offers = o.known.catalogue.Offers
		m.Held, m.CatalogueAt = len(o.known.tools.Held), some(o.known.catalogue.At)
	}
	if o.entry.Transport == transportStdio && o.judged != nil && o.judged.digests != nil {
		if o.judged.verdict.Developing && o.judged.outcome == "" {
			m.DevelopedUntil = some(o.judged.verdict.Until)
		}
		m.Confined = "none"
		if o.judged.confined {
			m.Confined = "server"
		}
	}
	return m
}

// some returns nil for the zero time.
func some(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// detail answers GET /api/v0/mcp/servers/{name}.
func (s *Service) detail(c *httpapi.Call, srv *server) error {
	set := s.current()
	return c.Within(set.ConnectTimeout, func(ctx context.Context) error {
		if err := srv.judgeNow(ctx); err != nil {
			return err
		}
		d, ok := s.describeServer(srv)
		if !ok {
			return &problem.Error{Code: http.StatusNotFound, Message: c.Failed(), Detail: "it has just been removed"}
		}
		return c.JSON(http.StatusOK, d)
	})
}

// describeServer returns all details of a server.
func (s *Service) describeServer(srv *server) (*agentapi.MCPServerDetail, bool) {
	offers, _ := s.offers()
	i := slices.IndexFunc(offers, func(o offer) bool { return o.name == srv.name && o.entry != nil })
	if i < 0 {
		return nil, false
	}
	o := &offers[i]
	d := &agentapi.MCPServerDetail{MCPServer: o.server(), Shadows: o.shadows, May: []string{}, Tools: catalog.Listed(o.name, o.tools)}
	e := o.entry
	r := srv.redact()
	// Show what the file says: references, not their values.
	d.Command, d.Cwd = r.String(e.Command), r.String(e.Cwd)
	for _, arg := range e.Args {
		d.Args = append(d.Args, r.String(arg))
	}
	d.EnvNames = union(slices.Collect(maps.Keys(e.Env)), e.Inherit)
	d.HeaderNames = union(slices.Collect(maps.Keys(e.Headers)), slices.Collect(maps.Keys(e.HeaderVariables)))
	if u, err := url.Parse(e.URL); err == nil {
		d.URLHost = r.String(u.Host)
	}
	if j := o.judged; j != nil {
		s.describeJudged(d, srv, j)
	}
	if k := o.known; k != nil {
		d.Instructions = k.tools.Instructions
		d.Versions = agentapi.MCPServerVersion{Name: k.catalogue.ServerName, Version: k.catalogue.ServerVersion, Protocol: k.catalogue.Protocol}
		d.HeldDigest = k.tools.HeldDigest
		for _, h := range k.tools.Held {
			d.Held = append(d.Held, agentapi.MCPHeldTool{Name: h.Tool.Name, New: h.New, Diff: h.Diff})
		}
		if k.tools.InstructionsHeld {
			d.Held = append(d.Held, agentapi.MCPHeldTool{Diff: k.tools.InstructionsDiff})
		}
	}
	for _, f := range o.findings {
		d.Findings = append(d.Findings, agentapi.MCPFinding(f))
	}
	return d, true
}

// describeJudged adds the results of judging.
func (s *Service) describeJudged(d *agentapi.MCPServerDetail, srv *server, j *judgement) {
	d.Redacted = j.redacted
	if j.digests != nil {
		d.Definition, d.Local, d.Pinned = j.digests.Definition, j.digests.Local, string(j.digests.Pinned)
		for _, f := range j.digests.Files {
			d.Files = append(d.Files, agentapi.MCPFile(f))
		}
	}
	if v := j.verdict; v.Allowed || v.Denied {
		d.Approval = &agentapi.MCPApproval{By: v.By, Denied: v.Denied, ID: v.ID, Until: some(v.Until)}
		if w := agentapi.MCPWidening(v.Widening); w.Widens() {
			d.Approval.Widening = &w
		}
	}
	for _, ch := range j.verdict.Changes {
		d.Changes = append(d.Changes, agentapi.MCPChange(ch))
	}
	d.May = srv.may(j)
}

// may says, in sentences, what the running server may do.
func (s *server) may(j *judgement) []string {
	set := s.svc.current()
	switch {
	case j.expanded == nil || j.digests == nil:
		return []string{}
	case j.entry.Transport != transportStdio:
		return []string{"it runs elsewhere: it gets what it is called with, and the headers of its entry"}
	case set.Unconfined || j.widening.Unconfined:
		return []string{"it runs without a profile: it may do what its user may"}
	}
	if _, err := launch.Supported(); err != nil {
		return []string{"the kernel can't confine it: it may do what its user may"}
	}
	p, err := s.profile(j, s.environment(j, j.widening))
	if err != nil {
		return []string{"what it may do isn't known: " + s.describe(err)}
	}
	return append(p.May(), p.Weaknesses()...)
}

// logs answers GET /api/v0/mcp/servers/{name}/logs.
func (s *Service) logs(c *httpapi.Call, srv *server) error {
	offset, err := offsetOf(c)
	if err != nil {
		return err
	}
	limit, err := pageLimit(c)
	if err != nil {
		return err
	}
	ms, _, err := c.Number("wait_ms", 31)
	if err != nil {
		return err
	}
	wait := min(time.Duration(ms)*time.Millisecond, maxWait) //nolint:gosec // of 31 bits
	read := func(ctx context.Context) error {
		text, at, next := srv.log.Read(ctx, offset, int(limit), wait)
		return c.JSON(http.StatusOK, agentapi.MCPLog{Text: text, Offset: at, NextOffset: next})
	}
	if wait == 0 {
		return read(c.Context())
	}
	return s.within(c, wait, read)
}

// approve answers POST /api/v0/mcp/servers/{name}/approve.
func (s *Service) approve(c *httpapi.Call, srv *server) error {
	var body agentapi.ApproveMCPServer
	if err := c.Decode(&body); err != nil {
		return err
	}
	access.Note(c.Context(), srv.name, body.Definition)
	if body.Held != "" {
		access.Note(c.Context(), body.Held)
	}
	writes := s.writes.Load()
	return s.decided(c, srv, func(ctx context.Context, f *facts) error {
		d := f.judged.digests
		if d.Definition != body.Definition || d.Local != body.Local {
			return &problem.Error{Code: http.StatusConflict, Message: c.Failed(), Detail: "it isn't what was looked at any more: look at it again with 'agent mcp show " + srv.name + "'"}
		}
		w := launch.Widening{Read: body.Read, Write: body.Write, Ports: body.Ports, Unix: body.Unix, Env: body.Env, Unconfined: body.Unconfined, Asks: body.Asks}
		if i := slices.IndexFunc(w.Asks, func(ask string) bool { return !slices.Contains(agentapi.MCPAsks, ask) }); i >= 0 {
			return s.refused(c, http.StatusBadRequest, fmt.Sprintf("asks has %.100q: a server may ask for %s", w.Asks[i], strings.Join(agentapi.MCPAsks, ", ")))
		}
		if body.Held != "" && (f.known == nil || f.known.tools.HeldDigest != body.Held) {
			return &problem.Error{Code: http.StatusConflict, Message: c.Failed(), Detail: "what is held back of it isn't what was looked at any more: look at it again with 'agent mcp show " + srv.name + "'"}
		}
		var err error
		if body.Develop {
			err = s.develop(ctx, c, srv, f, w, writes)
		} else {
			err = s.opts.Trust.Approve(ctx, f.entry, d, w)
		}
		if err != nil {
			return err
		}
		if body.Held != "" {
			return s.opts.Trust.ApproveTools(ctx, f.entry, d, f.known.catalogue)
		}
		return nil
	})
}

// develop approves a server for development if that is possible. writes is the number of
// writes before the server was judged: files that were written since might not be what was
// judged.
func (s *Service) develop(ctx context.Context, c *httpapi.Call, srv *server, f *facts, w launch.Widening, writes int64) error {
	conflict := func(why string) error {
		return &problem.Error{Code: http.StatusConflict, Message: c.Failed(), Detail: "it can't be developed: " + why}
	}
	set, asked := s.current(), *f.judged
	asked.widening = widened(w, set.Servers[srv.name].Widening)
	if why := srv.tooMuch(&asked, &set); why != "" {
		return conflict(why)
	}
	if s.opts.Alone == nil {
		return conflict("what else may write its files isn't known here")
	}
	var kept error
	err := s.opts.Alone(ctx, func() error {
		written := errors.New("files have been written meanwhile: try again")
		if s.writes.Load() != writes {
			return written
		}
		if kept = s.opts.Trust.Develop(ctx, f.entry, f.judged.digests, w); kept == nil && s.writes.Load() != writes {
			kept = s.opts.Trust.Approve(ctx, f.entry, f.judged.digests, w) // exactly as judged
			return written
		}
		return nil
	})
	switch {
	case kept != nil:
		return kept
	case err != nil:
		return conflict(err.Error())
	}
	return nil
}

// deny answers POST /api/v0/mcp/servers/{name}/deny.
func (s *Service) deny(c *httpapi.Call, srv *server) error {
	if err := c.DecodeNothing(); err != nil {
		return err
	}
	access.Note(c.Context(), srv.name)
	return s.decided(c, srv, func(ctx context.Context, f *facts) error {
		return s.opts.Trust.Deny(ctx, f.entry, f.judged.digests)
	})
}

// decided runs decide on the server as it is now, and waits for the consequences.
func (s *Service) decided(c *httpapi.Call, srv *server, decide func(ctx context.Context, f *facts) error) error {
	set := s.current()
	return c.Within(2*set.ConnectTimeout, func(ctx context.Context) error {
		if err := srv.judgeNow(ctx); err != nil {
			return err
		}
		f := srv.look()
		if f.judged == nil || f.judged.digests == nil {
			why := cmp.Or(f.why, "it isn't known what it is")
			return &problem.Error{Code: http.StatusConflict, Message: c.Failed(), Detail: "there is nothing to decide about: " + why}
		}
		before, _ := s.opts.Trust.Developing("")
		if err := decide(ctx, &f); err != nil {
			return err
		}
		if after, _ := s.opts.Trust.Developing(""); !after.Equal(before) {
			s.input(func() {}) // other servers may have to wait, or may run again
		}
		_ = srv.ask(ctx, func(w *wants) { w.judge = true }) // the outcome is reported elsewhere
		return c.NoContent()
	})
}

// restart answers POST /api/v0/mcp/servers/{name}/restart.
func (s *Service) restart(c *httpapi.Call, srv *server) error {
	if err := c.DecodeNothing(); err != nil {
		return err
	}
	access.Note(c.Context(), srv.name)
	set := s.current()
	return c.Within(2*set.ConnectTimeout, func(ctx context.Context) error {
		if err := srv.ask(ctx, func(w *wants) { w.restart = true }); err != nil {
			return &problem.Error{Code: http.StatusBadGateway, Message: c.Failed(), Detail: "it hasn't come back yet: see 'agent mcp logs " + srv.name + "'"}
		}
		f := srv.look()
		switch {
		case f.outcome == snapshot.OutcomeConnected:
			return c.NoContent()
		case (&notRunning{f.outcome, f.why}).forbidden():
			return &problem.Error{Code: http.StatusConflict, Message: c.Failed(), Detail: f.why}
		}
		return &problem.Error{Code: http.StatusBadGateway, Message: c.Failed(), Detail: f.why}
	})
}
