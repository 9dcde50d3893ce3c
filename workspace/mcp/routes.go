package mcp

import (
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed" // the document
	"encoding/hex"
	"errors"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	"waymark/abi"
	"waymark/internal/httpapi"
	"waymark/internal/httpapi/problem"
	"waymark/snapshot"
	"waymark/workspace"
	"waymark/workspace/access"
	"waymark/workspace/launch"
	"waymark/workspace/mcp/catalog"
	"waymark/workspace/mcp/search"
)

const (
	// maxWait bounds ?wait= and ?wait_ms=.
	maxWait = 5 * time.Minute
	// maxWaits bounds the calls that wait at the same time. With those that wait
	// elsewhere they leave some of the server's connections to the others.
	maxWaits = 64
	// Bounds of pages, in bytes.
	defaultPage = 64 << 10
	maxPage     = 1 << 20
	// maxFound bounds what a search finds.
	maxFound = 1000
)

//go:embed openapi.json
var document []byte

// Service returns the routes and their description.
func (s *Service) Service() httpapi.Service {
	const mcp, approve = string(access.ScopeMCP), string(access.ScopeApprove)
	one := workspace.PathMCPServers + "/{name}"
	const server = "the server is as it was"
	list := []httpapi.Route{
		{Method: http.MethodGet, Pattern: workspace.PathMCPTools, Handle: s.listTools, Failed: "the tools are not known"},
		{Method: http.MethodPost, Pattern: workspace.PathMCPCallTool, Scope: mcp, Effect: httpapi.Acts, Handle: s.call, Failed: "the tool was not called", MaxBody: maxCallBody, Untyped: true},
		{Method: http.MethodGet, Pattern: workspace.PathMCPSearch, Handle: s.searchTools, Failed: "the tools are not known"},
		{Method: http.MethodGet, Pattern: workspace.PathMCPResults + "/{id}", Handle: s.result, Failed: "there is nothing to read"},
		{Method: http.MethodGet, Pattern: workspace.PathMCPServers, Handle: s.listServers, Failed: "the servers are not known"},
		{Method: http.MethodGet, Pattern: one, Handle: s.named(s.detail), Failed: "the server is not known"},
		{Method: http.MethodGet, Pattern: one + "/logs", Handle: s.named(s.logs), Failed: "there is no log to show"},
		{Method: http.MethodPost, Pattern: one + "/approve", Scope: approve, Effect: httpapi.Acts, Handle: s.named(s.approve), Failed: "the server was not approved"},
		{Method: http.MethodPost, Pattern: one + "/deny", Scope: approve, Effect: httpapi.Acts, Handle: s.named(s.deny), Failed: "the server was not denied"},
		{Method: http.MethodPost, Pattern: one + "/restart", Scope: mcp, Effect: httpapi.Acts, Handle: s.named(s.restart), Failed: server},
		{Method: http.MethodPost, Pattern: one + "/login", Scope: approve, Effect: httpapi.Acts, Handle: s.named(s.login), Failed: "nobody was signed in"},
	}
	for i := range list {
		list[i].Handle = bodiless(list[i].Handle)
	}
	return httpapi.Service{Routes: list, Document: slices.Clone(document)}
}

// bodiless refuses bodies that nobody would read: unread they would keep net/http
// from noticing that the client is gone.
func bodiless(next httpapi.Handler) httpapi.Handler {
	return func(c *httpapi.Call) error {
		if c.Method == http.MethodGet && c.ContentLength != 0 {
			return &problem.Error{Code: http.StatusBadRequest, Message: c.Failed(), Detail: c.Method + " takes no body"}
		}
		return next(c)
	}
}

// named finds the server that a path names.
func (s *Service) named(next func(c *httpapi.Call, srv *server) error) httpapi.Handler {
	return func(c *httpapi.Call) error {
		srv := s.server(c.Context(), c.Arg("name"))
		if srv == nil {
			return &problem.Error{Code: http.StatusNotFound, Message: c.Failed(), Detail: "no configuration file has a server of this name: 'agent mcp list' lists them"}
		}
		return next(c, srv)
	}
}

// waiting waits until nothing is pending, or, with a name, that server isn't, or as long
// as the caller wants.
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
				return nil // what there is, is answered
			}
		}
	})
}

// within lets do wait for as long as d, of those calls that may wait.
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
		// Two tries: one the older way.
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
	return s.send(c, phase, workspace.MCPTools{Tools: allTools(c, offers), Phase: phase, Servers: outcomes(offers)})
}

// send answers with what may be kept once it is complete, and asked for by its tag.
func (s *Service) send(c *httpapi.Call, phase snapshot.Phase, v any) error {
	body, err := httpapi.Encode(v)
	if err != nil {
		return err
	}
	if phase == snapshot.PhaseComplete {
		c.Writer().Header().Set("Cache-Control", "no-cache") // ask, with the tag
		sum := sha256.Sum256(body)
		if c.Known(hex.EncodeToString(sum[:16])) {
			return nil
		}
	}
	c.SendEncoded(http.StatusOK, body)
	return nil
}

// allTools are those that the caller may call.
func allTools(c *httpapi.Call, offers []offer) []workspace.MCPTool {
	list, grant := []workspace.MCPTool{}, access.From(c.Context())
	for i := range offers {
		list = append(list, catalog.Listed(offers[i].name, offers[i].tools)...)
	}
	return slices.DeleteFunc(list, func(t workspace.MCPTool) bool { return !grant.Allows(t.Name) })
}

func outcomes(offers []offer) []workspace.MCPServerOutcome {
	list := make([]workspace.MCPServerOutcome, 0, len(offers))
	for i := range offers {
		list = append(list, workspace.MCPServerOutcome{Name: offers[i].name, Outcome: offers[i].outcome, Error: offers[i].why})
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
		tokens = search.DefaultTokens
	}
	limit, given, err := c.Number("limit", 31)
	if err != nil {
		return err
	}
	if !given {
		limit = search.DefaultTools
	}
	offers, phase := s.offers()
	found := search.Tools(allTools(c, offers), query, int(tokens), int(min(limit, maxFound)))
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

// pageLimit is how much of something is answered, in bytes.
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

// offsetOf is where in something an answer begins, in bytes.
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
		status.Servers = slices.DeleteFunc(status.Servers, func(m workspace.MCPServer) bool { return m.Name != name })
		status.Invalid = slices.DeleteFunc(status.Invalid, func(m workspace.MCPInvalid) bool { return m.Name != name })
		if s.complete(name) {
			status.Phase = snapshot.PhaseComplete
		}
	}
	return s.send(c, status.Phase, status)
}

// Status is how the servers are doing.
func (s *Service) Status() workspace.MCPServers {
	offers, phase := s.offers()
	list := make([]workspace.MCPServer, 0, len(offers))
	for i := range offers {
		if offers[i].entry != nil {
			list = append(list, offers[i].server())
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return workspace.MCPServers{Phase: phase, Servers: list, Invalid: append([]workspace.MCPInvalid{}, s.invalid...)}
}

// server is a server as it is listed.
func (o *offer) server() workspace.MCPServer {
	m := workspace.MCPServer{
		Name: o.name, ID: string(abi.KindMCPServer) + ":" + o.entry.Source + "#" + o.name, Source: o.entry.Source, Origin: string(o.entry.Origin),
		Transport: o.entry.Transport, Title: o.title(), State: o.state, Outcome: o.outcome, Error: o.why,
		Tools: len(o.tools), Findings: len(o.findings), Calls: o.calls, Restarts: o.restarts, StartedAt: some(o.startedAt), RetryAt: some(o.retryAt),
	}
	if o.known != nil {
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

// some is nil for no time.
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

// describeServer is everything that there is to know of a server.
func (s *Service) describeServer(srv *server) (*workspace.MCPServerDetail, bool) {
	offers, _ := s.offers()
	i := slices.IndexFunc(offers, func(o offer) bool { return o.name == srv.name && o.entry != nil })
	if i < 0 {
		return nil, false
	}
	o := &offers[i]
	d := &workspace.MCPServerDetail{MCPServer: o.server(), Shadows: o.shadows, May: []string{}, Tools: catalog.Listed(o.name, o.tools)}
	e := o.entry
	r := srv.redact()
	// What is shown is what stands in the file: references, not what they stand for.
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
		d.Versions = workspace.MCPServerVersion{Name: k.catalogue.ServerName, Version: k.catalogue.ServerVersion, Protocol: k.catalogue.Protocol}
		d.HeldDigest = k.tools.HeldDigest
		for _, h := range k.tools.Held {
			d.Held = append(d.Held, workspace.MCPHeldTool{Name: h.Tool.Name, New: h.New, Diff: h.Diff})
		}
		if k.tools.InstructionsHeld {
			d.Held = append(d.Held, workspace.MCPHeldTool{Diff: k.tools.InstructionsDiff})
		}
	}
	for _, f := range o.findings {
		d.Findings = append(d.Findings, workspace.MCPFinding(f))
	}
	return d, true
}

// describeJudged adds what was found out of an entry.
func (s *Service) describeJudged(d *workspace.MCPServerDetail, srv *server, j *judgement) {
	d.Redacted = j.redacted
	if j.digests != nil {
		d.Definition, d.Local, d.Pinned = j.digests.Definition, j.digests.Local, string(j.digests.Pinned)
		for _, f := range j.digests.Files {
			d.Files = append(d.Files, workspace.MCPFile(f))
		}
	}
	if v := j.verdict; v.Allowed || v.Denied {
		d.Approval = &workspace.MCPApproval{By: v.By, Denied: v.Denied, ID: v.ID, Until: some(v.Until)}
		if w := workspace.MCPWidening(v.Widening); w.Widens() {
			d.Approval.Widening = &w
		}
	}
	for _, ch := range j.verdict.Changes {
		d.Changes = append(d.Changes, workspace.MCPChange(ch))
	}
	d.May = srv.may(j)
}

// may says in sentences what a server may do once it runs.
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
		return c.JSON(http.StatusOK, workspace.MCPLog{Text: text, Offset: at, NextOffset: next})
	}
	if wait == 0 {
		return read(c.Context())
	}
	return s.within(c, wait, read)
}

// approve answers POST /api/v0/mcp/servers/{name}/approve.
func (s *Service) approve(c *httpapi.Call, srv *server) error {
	var body workspace.ApproveMCPServer
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
		w := launch.Widening{Read: body.Read, Write: body.Write, Ports: body.Ports, Unix: body.Unix, Env: body.Env, Unconfined: body.Unconfined}
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

// develop approves a server for development, where it may be. writes is the number of them
// from before it was looked at: what somebody has written since wouldn't be asked for.
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
			kept = s.opts.Trust.Approve(ctx, f.entry, f.judged.digests, w) // as what was looked at
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

// decided lets decide decide about a server as it is right now, and waits for what
// comes of that.
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
			s.input(func() {}) // others have to wait, or are back
		}
		_ = srv.ask(ctx, func(w *wants) { w.judge = true }) // how it goes on is told elsewhere
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
