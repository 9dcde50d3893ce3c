package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"waymark/agentapi"
	"waymark/internal/httpapi"
	"waymark/internal/httpapi/problem"
	"waymark/workspace/access"
	"waymark/workspace/mcp/catalog"
	"waymark/workspace/mcp/session"
	"waymark/workspace/mcp/trust"
)

const (
	// maxCallBody limits the arguments of a call, in bytes.
	maxCallBody = 4 << 20
	// ping is the interval of keep-alives on a stream without progress.
	ping = 15 * time.Second
	// maxProgress limits the progress messages that wait to be sent. Further ones are
	// dropped while the client doesn't read.
	maxProgress = 64
)

// call answers POST /api/v0/mcp/call-tool.
func (s *Service) call(c *httpapi.Call) error {
	var body agentapi.CallMCPTool
	if err := c.Decode(&body); err != nil {
		return err
	}
	access.Note(c.Context(), body.ToolName)
	server, tool, _ := strings.Cut(body.ToolName, catalog.Separator)
	if server == "" || tool == "" {
		return s.refused(c, http.StatusBadRequest, "tool_name is the name of a server, two underscores and the name of its tool")
	}
	if a := bytes.TrimSpace(body.Arguments); len(a) > 0 && a[0] != '{' && !bytes.Equal(a, []byte("null")) {
		return s.refused(c, http.StatusBadRequest, "arguments is a JSON object")
	} else if len(a) == 0 || a[0] != '{' {
		body.Arguments = nil
	}
	if !access.From(c.Context()).Allows(body.ToolName) {
		return s.refused(c, http.StatusForbidden, fmt.Sprintf("this token is not good for the tool %.100q", body.ToolName))
	}
	srv := s.server(c.Context(), server)
	if srv == nil {
		return s.refused(c, http.StatusNotFound, fmt.Sprintf("no configuration file has a server called %q", server))
	}
	set := s.current()
	if !set.allowsTool(server, tool) {
		return s.refused(c, http.StatusForbidden, "allow and deny in [mcp] of the configuration don't leave this tool")
	}
	caller, err := agentapi.CallerOf(c.Header)
	if err != nil {
		return s.refused(c, http.StatusBadRequest, err.Error())
	}
	grant := access.From(c.Context())
	who := caller.Chat.String()
	if grant != nil {
		who += " " + grant.ID
	}
	one := &toolCall{server: srv, tool: tool, arguments: body.Arguments, set: &set}
	if body.State != "" {
		var gone string
		if one, gone = s.resumed(&body, who, server, tool); one == nil {
			return s.refused(c, http.StatusGone, gone)
		}
	} else if may := s.asksOf(&body, srv, grant != nil && grant.Plan != ""); len(may) > 0 {
		one.begin(may)
	}
	if strings.Contains(c.Header.Get("Accept"), "text/event-stream") {
		return s.stream(c, one, who, body.Logs)
	}
	// Starting the server and the call each have their own time.
	return c.Within(set.ConnectTimeout+longest(set.CallTimeout), func(ctx context.Context) error {
		result, err := one.next(ctx, who)
		if err != nil {
			return s.callError(c, srv, err)
		}
		return c.JSON(http.StatusOK, result)
	})
}

// request answers POST /api/v0/mcp/request.
func (s *Service) request(c *httpapi.Call) error {
	var body agentapi.MCPRequest
	if err := c.Decode(&body); err != nil {
		return err
	}
	access.Note(c.Context(), body.Server+" "+body.Method)
	if catalog.OffersOf(body.Method) == "" {
		return s.refused(c, http.StatusBadRequest, fmt.Sprintf("the request %.100q isn't relayed", body.Method))
	}
	if p := bytes.TrimSpace(body.Params); len(p) > 0 && p[0] != '{' {
		return s.refused(c, http.StatusBadRequest, "params is a JSON object")
	}
	// A list of tools leaves it if it has all of the server's.
	if !access.From(c.Context()).Allows(body.Server + catalog.Separator) {
		return s.refused(c, http.StatusForbidden, fmt.Sprintf("this token is not good for the server %.100q", body.Server))
	}
	srv := s.server(c.Context(), body.Server)
	if srv == nil {
		return s.refused(c, http.StatusNotFound, fmt.Sprintf("no configuration file has a server called %q", body.Server))
	}
	set := s.current()
	if !set.allowsTool(body.Server, "") {
		return s.refused(c, http.StatusForbidden, "allow and deny in [mcp] of the configuration leave only some tools of this server")
	}
	one := &toolCall{server: srv, method: body.Method, arguments: body.Params, set: &set}
	return c.Within(set.ConnectTimeout+longest(set.CallTimeout), func(ctx context.Context) error {
		if _, err := one.do(ctx); err != nil {
			return s.callError(c, srv, err)
		}
		return c.JSON(http.StatusOK, agentapi.MCPAnswer{Result: one.raw})
	})
}

func (s *Service) refused(c *httpapi.Call, code int, detail string) error {
	return &problem.Error{Code: code, Message: c.Failed(), Detail: detail}
}

// callError returns the answer if a tool wasn't called or has no result.
func (s *Service) callError(c *httpapi.Call, srv *server, err error) *problem.Error {
	e := &problem.Error{Code: http.StatusBadGateway, Message: c.Failed(), Detail: srv.describeUpTo(err, maxCallError)}
	if said := (*session.ServerError)(nil); errors.As(err, &said) && said.Raw != nil {
		e.Cause = srv.redact().JSON(said.Raw)
	}
	var without *notRunning
	switch {
	case errors.Is(err, errHeld), errors.As(err, &without) && without.forbidden():
		e.Code = http.StatusForbidden
	case errors.Is(err, errFull):
		e.Code = http.StatusTooManyRequests
	}
	return e
}

// toolCall is a single call of a tool.
type toolCall struct {
	server    *server
	tool      string
	arguments json.RawMessage
	method    string          // of another request, whose parameters are the arguments
	raw       json.RawMessage // its result
	set       *Settings
	asking    *asking // nil for one whose server may ask nothing
	// tell, if not nil, takes progress and log messages, of a request at a time.
	tell atomic.Pointer[func(agentapi.MCPProgress)]
}

// told passes progress on to the caller.
func (t *toolCall) told(p agentapi.MCPProgress) {
	if tell := t.tell.Load(); tell != nil {
		(*tell)(p)
	}
}

// errHeld says that a tool waits for approval.
var errHeld = errors.New("it is held back")

// errFull says that a server has reached its limit of concurrent calls.
var errFull = fmt.Errorf("the server has %d calls to answer already: call again later", maxCalls)

// do starts the server if it doesn't run, and calls the tool.
func (t *toolCall) do(ctx context.Context) (*agentapi.MCPToolResult, error) {
	s := t.server
	// The call first waits for a free slot, then for the server.
	starting, cancel := t.starting(ctx)
	defer cancel()
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-starting.Done():
		return nil, errFull
	}
	if k := s.look().known; k != nil { // check before starting anything
		if err := t.permitted(k); err != nil {
			return nil, err
		}
	}
	result, err := t.once(ctx, starting)
	if !errors.Is(err, session.ErrSessionLost) {
		return result, err
	}
	// The server was restarted, for example. It hasn't called the tool.
	again, cancel := t.starting(ctx)
	defer cancel()
	if result, err = t.once(ctx, again); errors.Is(err, session.ErrSessionLost) {
		return nil, fmt.Errorf("a new session was lost at once, too: %w", err)
	}
	return result, err
}

// starting limits the wait for the server.
func (t *toolCall) starting(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, t.set.ConnectTimeout, fmt.Errorf("the server wasn't there within %s (connect_timeout in [mcp] of the configuration)", t.set.ConnectTimeout))
}

// once waits for the server until starting ends, and calls the tool.
func (t *toolCall) once(ctx, starting context.Context) (*agentapi.MCPToolResult, error) {
	s := t.server
	conn, release, err := s.use(starting)
	if err != nil {
		return nil, err
	}
	defer release()
	if err := t.permitted(s.knownOf(conn)); err != nil {
		return nil, err
	}
	ctx, progressed, stop := t.limited(ctx)
	defer stop()
	call := &session.Call{Tool: t.tool, Arguments: t.arguments, Progress: func(p session.Progress) {
		progressed()
		if p.Message = s.redact().String(p.Message); conn.files.Err() == nil {
			t.told(agentapi.MCPProgress{Progress: p.Progress, Total: p.Total, Message: p.Message})
		}
	}, Log: func(level, logger string, data json.RawMessage) {
		if r := s.redact(); conn.files.Err() == nil {
			t.told(agentapi.MCPProgress{Log: &agentapi.MCPLogMessage{Level: level, Logger: r.String(logger), Data: r.JSON(data)}})
		}
	}}
	if t.asking != nil {
		call.Asks, call.Ask = t.asking.may, func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
			defer progressed() // its time begins anew
			return t.ask(ctx, method, params)
		}
	}
	var result *session.Result
	if t.method == "" {
		result, err = conn.session.Call(ctx, call)
	} else {
		t.raw, err = conn.session.Ask(ctx, t.method, t.arguments)
	}
	if changed := conn.files.Err(); changed != nil { // the result may come from content that nobody has approved
		s.want(func(w *wants) { w.judge = true })
		return nil, fmt.Errorf("the server is ended: %w", changed)
	}
	switch {
	case errors.Is(err, session.ErrSessionLost):
		return nil, err
	case err != nil:
		if errors.Is(context.Cause(ctx), errSilent) {
			s.want(func(w *wants) { w.probe = conn })
		}
		return nil, s.callFailed(ctx, conn, err)
	}
	if t.method != "" {
		t.raw = s.redact().JSON(t.raw)
		return nil, nil //nolint:nilnil // raw is the result
	}
	return s.svc.answer(s.redact(), result, t.set.ResultBytes)
}

// errSilent is part of the cause of a context whose call was neither answered nor continued.
var errSilent = errors.New("the server is silent")

// limited returns a context that ends when the call's timeout has passed since the last call
// of progressed, with errSilent, or when the call takes too long in all.
func (t *toolCall) limited(ctx context.Context) (limited context.Context, progressed, stop func()) {
	e := t.server.look().entry
	within, key := t.set.callTimeout(e), t.set.callKey(e)
	all := longest(within)
	ctx, cancel := context.WithCancelCause(ctx)
	var reports atomic.Int64
	var silent *time.Timer
	made := make(chan struct{})
	silent = time.AfterFunc(within, func() {
		if <-made; t.asking != nil && t.asking.asks.Load() > 0 {
			silent.Reset(within) // it waits for the caller
			return
		}
		what := "hasn't answered"
		if reports.Load() > 0 {
			what = "has neither answered nor reported progress"
		}
		cancel(&silence{fmt.Sprintf("the server %s within %s (%s)", what, within, key)})
	})
	close(made)
	over := time.AfterFunc(all, func() {
		cancel(fmt.Errorf("the server has reported progress, and not answered within %s, which is the most for %s (%s)", all, within, key))
	})
	return ctx, func() {
			reports.Add(1)
			silent.Reset(within)
		}, func() {
			silent.Stop()
			over.Stop()
			cancel(nil)
		}
}

// silence is errSilent in words.
type silence struct{ text string }

func (s *silence) Error() string { return s.text }

func (*silence) Is(target error) bool { return target == errSilent }

// knownOf returns what a connection offers.
func (s *server) knownOf(c *connection) *known {
	s.mu.Lock()
	defer s.mu.Unlock()
	return c.known
}

// permitted reports why a tool may not be called; nil if it may.
func (t *toolCall) permitted(k *known) error {
	name := t.server.name
	if t.method != "" {
		if offer := catalog.OffersOf(t.method); !slices.Contains(k.catalogue.Offers, offer) {
			return fmt.Errorf("the server %s offers no %s", name, offer)
		}
		return nil
	}
	if e := t.server.look().entry; e != nil && !e.Uses(t.tool) {
		return fmt.Errorf("the entry of %s doesn't leave the tool %q: see its tools in %s: %w", name, t.tool, e.Source, errHeld)
	}
	if slices.ContainsFunc(k.tools.Taken, func(one catalog.Tool) bool { return one.Name == t.tool }) {
		return nil
	}
	if slices.ContainsFunc(k.tools.Held, func(h trust.HeldTool) bool { return h.Tool.Name == t.tool }) {
		return fmt.Errorf("the tool has changed, or is new, since the server was approved: see 'agent mcp show %s', then 'agent mcp approve --tools %s': %w", name, name, errHeld)
	}
	return fmt.Errorf("the server %s has no tool %q", name, t.tool)
}

// callFailed returns the reason why a call has no result: what happened to the server, if
// something did.
func (s *server) callFailed(ctx context.Context, c *connection, err error) error {
	select {
	case <-c.session.Done():
	default:
		return because(ctx, err)
	}
	// The reason for a lost connection is known soon.
	timer := time.NewTimer(2 * exitWait)
	defer timer.Stop()
	select {
	case <-c.over:
		s.mu.Lock()
		why := c.why
		s.mu.Unlock()
		return errors.New("the server ended during the call: " + why)
	case <-timer.C:
	case <-ctx.Done():
	}
	return fmt.Errorf("the server ended during the call: %w", err)
}

// stream answers a call with events: its progress, then its outcome.
func (s *Service) stream(c *httpapi.Call, t *toolCall, who string, logs bool) error {
	steps := make(chan agentapi.MCPProgress, maxProgress)
	tell := func(p agentapi.MCPProgress) {
		if p.Log != nil && !logs {
			return
		}
		select {
		case steps <- p:
		default:
		}
	}
	t.tell.Store(&tell)
	defer t.tell.Store(nil)
	ctx, cancel := context.WithTimeout(c.Context(), t.set.ConnectTimeout+longest(t.set.CallTimeout))
	defer cancel()
	ends := make(chan outcome, 1)
	go func() {
		result, err := t.next(ctx, who)
		ends <- outcome{result, err}
	}()
	c.Stream()
	header := c.Writer().Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("X-Accel-Buffering", "no") // otherwise nginx would buffer the events
	c.Writer().WriteHeader(http.StatusOK)
	alive := time.NewTicker(ping)
	defer alive.Stop()
	var gone error
	send := func(event string, v any) {
		if gone == nil {
			gone = sendEvent(c, event, v)
		}
		if gone != nil {
			cancel() // the client is gone
		}
	}
	step := func(p agentapi.MCPProgress) {
		if p.Log != nil {
			send(agentapi.MCPEventLog, p.Log)
		} else {
			send(agentapi.MCPEventProgress, p)
		}
	}
	for {
		select {
		case p := <-steps:
			step(p)
		case <-alive.C:
			if err := c.Flush([]byte(": alive\n\n")); err != nil {
				gone = err
				cancel()
			}
		case d := <-ends:
			for len(steps) > 0 {
				step(<-steps)
			}
			if d.err != nil {
				e := s.callError(c, t.server, d.err)
				send(agentapi.MCPEventError, agentapi.MCPCallError{Code: e.Code, Message: e.Message, Detail: e.Detail, Cause: e.Cause})
			} else {
				send(agentapi.MCPEventResult, d.result)
			}
			return nil
		}
	}
}

// sendEvent sends one event.
func sendEvent(c *httpapi.Call, event string, v any) error {
	data, err := httpapi.Encode(v) // ends with a newline
	if err != nil {
		return err
	}
	return c.Flush(slices.Concat([]byte("event: "+event+"\ndata: "), data, []byte("\n")))
}
