package process

import (
	"net/http"

	"waymark/agentapi"
	"waymark/internal/httpapi"
	"waymark/workspace/access"
)

// listParams are the parameters of GET /api/v0/processes/list.
type listParams struct {
	agentapi.CallerParams

	// The maximum number of processes. Only in Waymark.
	Limit int64 `query:"limit" minimum:"0" maximum:"10000" default:"10"`
}

// tokenParams are the parameters of GET /api/v0/processes/tokens/{token}.
type tokenParams struct {
	agentapi.CallerParams

	// The client token of a start.
	Token string `path:"token"`
}

// processParams are the parameters of a path with a process's id.
type processParams struct {
	agentapi.CallerParams

	// The process's id.
	ID string `path:"id"`
}

// outputParams are the parameters of GET /api/v0/processes/{id}/output.
type outputParams struct {
	processParams

	// `true` waits until the process has ended, at most 5 minutes; after that the answer
	// says that it is running.
	Wait bool `query:"wait"`
	// Where the page begins, in bytes. Only in Waymark.
	Offset int64 `query:"offset" minimum:"0"`
	// The maximum size of the page, in bytes; a single larger rune is sent completely. Only
	// in Waymark.
	Limit int64 `query:"limit" minimum:"0" maximum:"4194304" default:"65536"`
	// How long to wait for the first new byte of a page or, with `wait=true`, for the end,
	// in milliseconds; at most 5 minutes. Only in Waymark.
	WaitMS int64 `query:"wait_ms" minimum:"0"`
	// `raw` sends a page as it was written, byte for byte; the rest of the answer is in the
	// header Waymark-Output. `terminal` sends head and tail of what a terminal shows at the end,
	// without what was overwritten or erased, and without escapes. Only in Waymark.
	Encoding string `query:"encoding" enum:"raw,terminal"`
	// Refuses the request with 409 if another instance holds the processes.
	AgentInstanceID string `query:"agent_instance_id"`
}

// outputHeaders are the headers of the answer.
type outputHeaders struct {
	// With `encoding=raw`, the answer as JSON, without the output.
	Output string `header:"Waymark-Output"`
}

// Ids in the examples.
const (
	exampleID       = "0199a1b2-0000-7000-8000-000000000001"
	exampleInstance = "2b1f1e0c-7f0e-4d52-9a55-0a6f4be3e1d2"
)

// routes returns the routes with their documentation.
func (s *Service) routes() []httpapi.Route {
	const (
		scope = string(access.ScopeProcesses)
		one   = agentapi.PathProcesses + "/{id}"
	)
	return []httpapi.Route{
		{Method: http.MethodPost, Pattern: agentapi.PathStart, Scope: scope, Effect: httpapi.Fenced, Handle: s.start, Failed: "the process was not started", MaxBody: maxStartBody, Timeout: actWithin,
			Operation: &httpapi.Operation{
				ID: "startProcess", Summary: "Start a process",
				Text:    "A command is run by `sh -c`, in a process group of its own, independently of the request; standard output and standard error are one, and there is no standard input unless it is asked for. It runs in `workdir`: an absolute path, one that begins with `~/`, or one relative to the workspace's directory; without it in the workspace's directory, or in the home directory while that isn't there. Its environment is the agent's, without the agent's own secrets, then `env`, then `CODER_CHAT_ID`.\n\nThe same `client_token` with the same input is attached to what the first start began. A tracked start carries `process_id`, `agent_instance_id`, `input_digest` and perhaps `deadline`, happens at most once, and can be fenced off; `input_digest` is compared, and never computed anew.",
				Params:  agentapi.CallerParams{},
				Body:    agentapi.StartProcess{},
				Example: agentapi.StartProcess{Command: "make test", WorkDir: "/home/me/project", Background: true, ClientToken: "call-7"},
				Answers: []httpapi.Answer{
					{Code: http.StatusOK, Text: "It runs; `attached` says that an earlier request has started it.", Body: agentapi.StartedProcess{},
						Example: agentapi.StartedProcess{ID: exampleID, Started: true, ClientToken: "call-7", AgentInstanceID: exampleInstance}},
					{Code: http.StatusConflict, Text: "The token or the id belongs to another start, or another instance holds the processes."},
					{Code: http.StatusGone, Text: "The time of a tracked start is over. What is known of how it ended is in `process`.", Body: expiredStart{}},
				},
				Errors: []int{http.StatusTooManyRequests},
			}},
		{Method: http.MethodGet, Pattern: agentapi.PathList, Handle: s.list, Failed: "the processes are not known", Timeout: actWithin,
			Operation: &httpapi.Operation{
				ID: "listProcesses", Summary: "Processes, running ones first, then the newest",
				Params: listParams{},
				Answers: []httpapi.Answer{{Code: http.StatusOK, Text: "Those of the chat, or, where none is named, all.", Body: agentapi.ProcessList{},
					Example: agentapi.ProcessList{AgentInstanceID: exampleInstance, Processes: []agentapi.Process{{
						ID: exampleID, Command: "make test", WorkDir: "/home/me/project", Background: true, ExitCode: new(0), StartedAtUnix: 1795350000, ExitedAtUnix: new(int64(1795350042)),
						Usage: &agentapi.ProcessUsage{UserMS: 31000, SystemMS: 2400, MaxRSS: 104857600, WallMS: 42000, OutputLen: 123456}}}}}},
				Errors: []int{http.StatusBadRequest},
			}},
		{Method: http.MethodGet, Pattern: agentapi.PathTokens + "/{token}", Handle: s.token, Failed: "the token is not known", Timeout: actWithin,
			Operation: &httpapi.Operation{
				ID: "processToken", Summary: "What a start with a client token has begun",
				Params: tokenParams{},
				Answers: []httpapi.Answer{{Code: http.StatusOK, Text: "Also where nothing is known of it.", Body: agentapi.TokenStatus{},
					Example: agentapi.TokenStatus{Found: true, ProcessID: exampleID, TokenIndexAgeMS: 86400000}}},
				Errors: []int{http.StatusBadRequest},
			}},
		{Method: http.MethodPost, Pattern: agentapi.PathCancelTracked, Scope: scope, Effect: httpapi.Fenced, Handle: s.cancelTracked, Failed: "the process was not canceled",
			Operation: &httpapi.Operation{
				ID: "cancelTracked", Summary: "Fence a tracked start off, and end what it has begun",
				Text:    "Also for an id that has never started: it can't any more.",
				Params:  agentapi.CallerParams{},
				Body:    agentapi.CancelTracked{},
				Example: agentapi.CancelTracked{ProcessID: exampleID, AgentInstanceID: exampleInstance, InputDigest: "0000000000000000000000000000000000000000000000000000000000000000", Deadline: "2026-11-22T15:04:05Z", WaitMS: 5000},
				Answers: []httpapi.Answer{
					httpapi.OK("`fenced` says that it has never started and never will; `process` is how it is doing, after `wait_ms` at most.", agentapi.CancelledTracked{}),
					{Code: http.StatusConflict, Text: "The id belongs to another start, or another instance holds the processes."},
					{Code: http.StatusGone, Text: "Its time is over."},
				},
				Errors: []int{http.StatusTooManyRequests},
			}},
		{Method: http.MethodGet, Pattern: one + "/output", Handle: s.output, Failed: "there is no output to show",
			Operation: &httpapi.Operation{
				ID: "processOutput", Summary: "What a process has written",
				Text:   "Without an offset: its head and its tail, of 16 KiB each, cut at lines, with a marker between them; lines over 2,048 bytes are cut. With `offset` or `limit`: a page, which ends on a rune. What isn't UTF-8 is U+FFFD, one for each byte, while offsets count the bytes that were written. State is read before output: what has ended has all of it.",
				Params: outputParams{},
				Answers: []httpapi.Answer{
					{Code: http.StatusOK, Text: "What it has written, and whether it runs.", Body: httpapi.Contents{agentapi.ProcessOutput{}, httpapi.Content("application/octet-stream")},
						Headers: outputHeaders{}, Example: agentapi.ProcessOutput{Output: "ok\n", ExitCode: new(0)}},
					{Code: http.StatusConflict, Text: "Another instance holds the processes."},
				},
				Errors: []int{http.StatusBadRequest, http.StatusNotFound, http.StatusTooManyRequests},
			}},
		{Method: http.MethodPost, Pattern: one + "/signal", Scope: scope, Effect: httpapi.Fenced, Handle: s.signal, Failed: "no signal was sent", Timeout: actWithin,
			Operation: &httpapi.Operation{
				ID: "signalProcess", Summary: "Send a signal to a process and all of its group",
				Params:  processParams{},
				Body:    agentapi.SignalProcess{},
				Example: agentapi.SignalProcess{Signal: "terminate"},
				Answers: []httpapi.Answer{
					{Code: http.StatusOK, Text: "It was sent.", Body: done{}, Example: done{"signal terminate was sent to process " + exampleID}},
					{Code: http.StatusConflict, Text: "The process has ended."},
				},
				Errors: []int{http.StatusNotFound},
			}},
		{Method: http.MethodPost, Pattern: one + "/stdin", Scope: scope, Effect: httpapi.Fenced, Handle: s.stdin, Failed: "nothing was written", MaxBody: maxStdinBody, Timeout: actWithin,
			Operation: &httpapi.Operation{
				ID: "writeStdin", Summary: "Write to a process's standard input, and close it",
				Text:    "Waymark's. Of a terminal, closing is what Ctrl-D is. A confined token reaches only what was started with it, or with one that is confined alike.",
				Params:  processParams{},
				Body:    agentapi.ProcessStdin{},
				Example: agentapi.ProcessStdin{Data: "yes\n", Close: true},
				Answers: []httpapi.Answer{
					{Code: http.StatusNoContent, Text: "It was written."},
					{Code: http.StatusConflict, Text: "The process has ended, or its standard input is closed."},
				},
				Errors: []int{http.StatusNotFound},
			}},
		{Method: http.MethodPost, Pattern: one + "/resize", Scope: scope, Effect: httpapi.Fenced, Handle: s.resize, Failed: "the terminal has its old size", Timeout: actWithin,
			Operation: &httpapi.Operation{
				ID: "resizeProcess", Summary: "Change the size of a process's terminal", Text: "Waymark's.",
				Params:  processParams{},
				Body:    agentapi.TerminalSize{},
				Example: agentapi.TerminalSize{Rows: 40, Cols: 132},
				Answers: []httpapi.Answer{
					{Code: http.StatusNoContent, Text: "It has the size."},
					{Code: http.StatusConflict, Text: "The process has ended, or has no terminal."},
				},
				Errors: []int{http.StatusNotFound},
			}},
	}
}
