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
	one := &toolCall{server: srv, tool: tool, arguments: body.Arguments, set: &set}
	if strings.Contains(c.Header.Get("Accept"), "text/event-stream") {
		return s.stream(c, one)
	}
	// Starting the server and the call each have their own time.
	return c.Within(set.ConnectTimeout+set.CallTimeout, func(ctx context.Context) error {
		result, err := one.do(ctx)
		if err != nil {
			return s.callError(c, srv, err)
		}
		return c.JSON(http.StatusOK, result)
	})
}

func (s *Service) refused(c *httpapi.Call, code int, detail string) error {
	return &problem.Error{Code: code, Message: c.Failed(), Detail: detail}
}

// callError returns the answer if a tool wasn't called or has no result.
func (s *Service) callError(c *httpapi.Call, srv *server, err error) *problem.Error {
	e := &problem.Error{Code: http.StatusBadGateway, Message: c.Failed(), Detail: srv.describe(err)}
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
	set       *Settings
	progress  func(session.Progress)
}

// errHeld says that a tool waits for approval.
var errHeld = errors.New("it is held back")

// errFull says that a server has reached its limit of concurrent calls.
var errFull = fmt.Errorf("the server has %d calls to answer already: call again later", maxCalls)

// do starts the server if it doesn't run, and calls the tool.
func (t *toolCall) do(ctx context.Context) (*agentapi.MCPToolResult, error) {
	s := t.server
	// The call first waits for a free slot, then for the server.
	starting, cancel := context.WithTimeoutCause(ctx, t.set.ConnectTimeout, fmt.Errorf("the server wasn't there within %s", t.set.ConnectTimeout))
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
	conn, release, err := s.use(starting)
	if err != nil {
		return nil, err
	}
	defer release()
	if err := t.permitted(s.knownOf(conn)); err != nil {
		return nil, err
	}
	within := t.set.callTimeout(s.look().entry)
	timeout := fmt.Errorf("the server hasn't answered within %s", within)
	ctx, stop := context.WithTimeoutCause(ctx, within, timeout)
	defer stop()
	call := &session.Call{Tool: t.tool, Arguments: t.arguments}
	if t.progress != nil {
		call.Progress = func(p session.Progress) {
			if p.Message = s.redact().String(p.Message); conn.files.Err() == nil {
				t.progress(p)
			}
		}
	}
	result, err := conn.session.Call(ctx, call)
	if changed := conn.files.Err(); changed != nil { // the result may come from content that nobody has approved
		s.want(func(w *wants) { w.judge = true })
		return nil, fmt.Errorf("the server is ended: %w", changed)
	}
	if err != nil {
		if context.Cause(ctx) == timeout { //nolint:errorlint // this one
			s.want(func(w *wants) { w.probe = conn })
		}
		return nil, s.callFailed(ctx, conn, err)
	}
	return s.svc.answer(s.redact(), result, t.set.ResultBytes)
}

// knownOf returns what a connection offers.
func (s *server) knownOf(c *connection) *known {
	s.mu.Lock()
	defer s.mu.Unlock()
	return c.known
}

// permitted reports why a tool may not be called; nil if it may.
func (t *toolCall) permitted(k *known) error {
	name := t.server.name
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
func (s *Service) stream(c *httpapi.Call, t *toolCall) error {
	steps := make(chan session.Progress, maxProgress)
	t.progress = func(p session.Progress) {
		select {
		case steps <- p:
		default:
		}
	}
	ctx, cancel := context.WithTimeout(c.Context(), t.set.ConnectTimeout+t.set.CallTimeout)
	defer cancel()
	type done struct {
		result *agentapi.MCPToolResult
		err    error
	}
	ends := make(chan done, 1)
	go func() {
		result, err := t.do(ctx)
		ends <- done{result, err}
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
	for {
		select {
		case p := <-steps:
			send(agentapi.MCPEventProgress, agentapi.MCPProgress(p))
		case <-alive.C:
			if err := c.Flush([]byte(": alive\n\n")); err != nil {
				gone = err
				cancel()
			}
		case d := <-ends:
			for len(steps) > 0 {
				send(agentapi.MCPEventProgress, agentapi.MCPProgress(<-steps))
			}
			if d.err != nil {
				e := s.callError(c, t.server, d.err)
				send(agentapi.MCPEventError, agentapi.MCPCallError{Code: e.Code, Message: e.Message, Detail: e.Detail})
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
