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

// Processes are the calls about processes. 404 says that there is no such process,
// or that it belongs to another chat.
type Processes interface {
	// StartProcess starts a process, which runs independently of the call. The same
	// ClientToken with the same input is attached to what the first start began,
	// with another input 409. A tracked start whose time is over: 410.
	StartProcess(ctx context.Context, start agentapi.StartProcess) (*agentapi.StartedProcess, error)
	// ListProcesses lists running ones first, then the newest, limit at most; 0 is
	// the agent's own limit, 10.
	ListProcesses(ctx context.Context, limit int) (*agentapi.ProcessList, error)
	// ProcessOutput returns what a process has written; see also [Follow].
	ProcessOutput(ctx context.Context, id string, opts agentapi.OutputOptions) (*agentapi.ProcessOutput, error)
	// SignalProcess ends a process: "terminate" asks it to, "kill" doesn't. 409 says
	// that it has ended.
	SignalProcess(ctx context.Context, id, signal string) error
	// WriteStdin writes to the standard input of a process that was started with
	// it, and closes it. 409 says that it is closed.
	WriteStdin(ctx context.Context, id string, input agentapi.ProcessStdin) error
	// ResizeProcess changes the size of the terminal of a process that was started
	// on one; others: 409.
	ResizeProcess(ctx context.Context, id string, size agentapi.TerminalSize) error
	// ProcessToken says what a start with that client token has begun.
	ProcessToken(ctx context.Context, token string) (*agentapi.TokenStatus, error)
	// CancelTracked keeps a tracked start from happening any more, and ends what has
	// begun. 409 says that the id or the agent's instance belongs to another start,
	// 410 that the deadline has passed.
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
