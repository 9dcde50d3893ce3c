package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"waymark/agentapi"
	"waymark/internal/httpapi/apiclient"
)

// Processes has the calls about processes. 404 says that there is no such process, or that
// it belongs to another chat.
type Processes interface {
	// StartProcess starts a process, which runs independently of the call. A start with the
	// same ClientToken and the same input attaches to the existing process; with another
	// input it is 409. 410 says that the deadline of a tracked start has passed.
	StartProcess(ctx context.Context, start agentapi.StartProcess) (*agentapi.StartedProcess, error)
	// ListProcesses lists processes, running ones first, then the newest. limit 0 means the
	// agent's own limit, 10.
	ListProcesses(ctx context.Context, limit int) (*agentapi.ProcessList, error)
	// ProcessOutput returns a process's output; see also [Follow].
	ProcessOutput(ctx context.Context, id string, opts agentapi.OutputOptions) (*agentapi.ProcessOutput, error)
	// SignalProcess sends a signal: "terminate" asks a process to end, "kill" ends it. 409
	// says that it has ended.
	SignalProcess(ctx context.Context, id, signal string) error
	// WriteStdin writes to the standard input of a process that was started with one, and
	// may close it. 409 says that it is closed.
	WriteStdin(ctx context.Context, id string, input agentapi.ProcessStdin) error
	// ResizeProcess changes the terminal size of a process. 409 says that it has no
	// terminal.
	ResizeProcess(ctx context.Context, id string, size agentapi.TerminalSize) error
	// ProcessToken returns what the start with this client token has started.
	ProcessToken(ctx context.Context, token string) (*agentapi.TokenStatus, error)
	// CancelTracked prevents a tracked start, and ends the process if it has started. 409
	// says that the id or the agent's instance belongs to another start, 410 that the
	// deadline has passed.
	CancelTracked(ctx context.Context, start agentapi.CancelTracked) (*agentapi.CancelledTracked, error)
}

// maxOutputWait is how long the agent lets a request for output wait.
const maxOutputWait = 5 * time.Minute

func (a *agent) StartProcess(ctx context.Context, start agentapi.StartProcess) (*agentapi.StartedProcess, error) {
	return apiclient.Fetch[agentapi.StartedProcess](ctx, a.api, post(agentapi.PathStart, start))
}

func post(path string, body any) apiclient.Request {
	return apiclient.Request{Method: http.MethodPost, Path: path, Body: body}
}

func (a *agent) ListProcesses(ctx context.Context, limit int) (*agentapi.ProcessList, error) {
	r := apiclient.Get(agentapi.PathList)
	if limit > 0 {
		r.Query = url.Values{"limit": {strconv.Itoa(limit)}}
	}
	return apiclient.Fetch[agentapi.ProcessList](ctx, a.api, r)
}

func (a *agent) ProcessOutput(ctx context.Context, id string, opts agentapi.OutputOptions) (*agentapi.ProcessOutput, error) {
	r := apiclient.Get(processPath(id, "output"))
	r.Query = url.Values{}
	if opts.Wait {
		r.Query.Set("wait", "true")
		r.Wait = maxOutputWait
	}
	if opts.Offset != nil {
		r.Query.Set("offset", strconv.FormatInt(*opts.Offset, 10))
	}
	if opts.Limit != 0 {
		r.Query.Set("limit", strconv.FormatInt(opts.Limit, 10))
	}
	if opts.WaitFor > 0 {
		r.Query.Set("wait_ms", strconv.FormatInt(max(opts.WaitFor.Milliseconds(), 1), 10))
		r.Wait = min(opts.WaitFor, maxOutputWait)
	}
	if opts.Terminal && r.Query.Get("offset") == "" {
		r.Query.Set("encoding", "terminal")
	}
	if !opts.Raw {
		return apiclient.Fetch[agentapi.ProcessOutput](ctx, a.api, r)
	}
	r.Query.Set("encoding", "raw")
	answer, err := a.api.Do(ctx, r)
	if err != nil {
		return nil, err
	}
	out := &agentapi.ProcessOutput{Data: answer.Body}
	if err := json.Unmarshal([]byte(answer.Header.Get(agentapi.HeaderOutput)), out); err != nil {
		return nil, fmt.Errorf("the agent's answer can't be understood: %s: %w", agentapi.HeaderOutput, err)
	}
	return out, nil
}

func processPath(id, what string) string {
	return agentapi.PathProcesses + "/" + url.PathEscape(id) + "/" + what
}

func (a *agent) SignalProcess(ctx context.Context, id, signal string) error {
	return a.api.Send(ctx, post(processPath(id, "signal"), agentapi.SignalProcess{Signal: signal}))
}

func (a *agent) WriteStdin(ctx context.Context, id string, input agentapi.ProcessStdin) error {
	return a.api.Send(ctx, post(processPath(id, "stdin"), input))
}

func (a *agent) ResizeProcess(ctx context.Context, id string, size agentapi.TerminalSize) error {
	return a.api.Send(ctx, post(processPath(id, "resize"), size))
}

func (a *agent) ProcessToken(ctx context.Context, token string) (*agentapi.TokenStatus, error) {
	return apiclient.Fetch[agentapi.TokenStatus](ctx, a.api, apiclient.Get(agentapi.PathTokens+"/"+url.PathEscape(token)))
}

func (a *agent) CancelTracked(ctx context.Context, start agentapi.CancelTracked) (*agentapi.CancelledTracked, error) {
	r := post(agentapi.PathCancelTracked, start)
	r.Wait = time.Duration(max(start.WaitMS, 0)) * time.Millisecond
	return apiclient.Fetch[agentapi.CancelledTracked](ctx, a.api, r)
}
