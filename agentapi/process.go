package agentapi

import (
	"time"
)

// StartProcess is the body of POST /api/v0/processes/start.
type StartProcess struct {
	// Command is run by `sh -c`. It may be empty only if Argv is given.
	Command string `json:"command" maxLength:"131071" required:"false"`
	// WorkDir is its working directory: an absolute path, one that begins with `~/`, or one
	// relative to the workspace's directory. Empty means the workspace's directory, or the
	// home directory if that doesn't exist.
	WorkDir string `json:"workdir,omitempty"`
	// Env has variables that are added to the agent's environment or replace those there.
	Env map[string]string `json:"env,omitempty"`
	// Background is only stored and reported: every process runs independently of the
	// request.
	Background bool `json:"background,omitempty"`
	// ClientToken makes a start idempotent: another start with the same token and input
	// attaches to the existing process.
	ClientToken string `json:"client_token,omitempty" maxLength:"1024"`

	// ProcessID, for a tracked start, is the id of the new process, a UUID.
	ProcessID string `json:"process_id,omitempty"`
	// AgentInstanceID, for a tracked start, is the instance that must hold the process, a
	// UUID.
	AgentInstanceID string `json:"agent_instance_id,omitempty"`
	// InputDigest, for a tracked start, is a SHA-256 in hexadecimal. It is only compared,
	// never computed.
	InputDigest string `json:"input_digest,omitempty"`
	// Deadline, for a tracked start, is the latest time for the start, in RFC 3339.
	Deadline string `json:"deadline,omitempty"`

	// Argv, only in Waymark, is a program with its arguments, instead of Command. No shell
	// is involved.
	Argv []string `json:"argv,omitempty"`
	// Stdin, only in Waymark, keeps standard input open for later writes.
	Stdin bool `json:"stdin,omitempty"`
	// PTY, only in Waymark, runs the process on a pseudo-terminal of this size; 0 by 0
	// means 24 rows and 80 columns.
	PTY *TerminalSize `json:"pty,omitempty"`
	// TimeoutMS, only in Waymark, ends the process after this many milliseconds: SIGTERM to
	// its group, later SIGKILL. 0 means never.
	TimeoutMS int64 `json:"timeout_ms,omitempty" minimum:"0" maximum:"2592000000"`
	// Profile, only in Waymark, restricts the process further than the token: `secrets`
	// hides the places of secrets, `plan` allows writing only to the plan's file and a
	// private temporary directory. Empty means what the token requires.
	Profile string `json:"profile,omitempty" enum:"none,secrets,plan,"`
}

// TerminalSize is the size of a terminal, in characters.
type TerminalSize struct {
	// Rows is the number of lines.
	Rows uint16 `json:"rows"`
	// Cols is the number of characters in a line.
	Cols uint16 `json:"cols"`
}

// StartedProcess answers a start.
type StartedProcess struct {
	// ID names the process.
	ID string `json:"id" minLength:"1"`
	// Started says that this request has started the process.
	Started bool `json:"started"`
	// ClientToken is the request's.
	ClientToken string `json:"client_token,omitempty"`
	// Attached says that an earlier request with the same token or id has started the
	// process.
	Attached bool `json:"attached,omitempty"`
	// AgentInstanceID identifies the supervisor that holds the processes. It outlives the
	// agent.
	AgentInstanceID string `json:"agent_instance_id"`
}

// ProcessList answers GET /api/v0/processes/list.
type ProcessList struct {
	// Processes are the running ones first, then the newest.
	Processes []Process `json:"processes"`
	// AgentInstanceID identifies the supervisor that holds the processes. It outlives the
	// agent.
	AgentInstanceID string `json:"agent_instance_id"`
}

// Process is an entry of a list of processes.
type Process struct {
	// ID is the process's id.
	ID string `json:"id"`
	// Command is the command for `sh -c`, or the argv quoted for a shell.
	Command string `json:"command"`
	// WorkDir is the absolute path of its working directory.
	WorkDir string `json:"workdir"`
	// Background is the value of the start.
	Background bool `json:"background"`
	// Running says that the process hasn't ended.
	Running bool `json:"running"`
	// ExitCode is 128+N if signal N ended the process. It is absent while it runs, and if
	// it is unknown.
	ExitCode *int `json:"exit_code,omitempty"`
	// StartedAtUnix is the time of the start, in seconds since 1970.
	StartedAtUnix int64 `json:"started_at_unix"`
	// ExitedAtUnix is the time of the end, in seconds since 1970; absent while it runs.
	ExitedAtUnix *int64 `json:"exited_at_unix,omitempty"`

	// Lost, only in Waymark, says why it is unknown how the process ended, for example
	// because the supervisor has ended.
	Lost string `json:"lost,omitempty"`
	// ChatID, only in Waymark, is the chat that started it.
	ChatID string `json:"chat_id,omitempty"`
	// Usage, only in Waymark, are the resources that it used; absent until it has ended.
	Usage *ProcessUsage `json:"usage,omitempty"`
	// Left, only in Waymark, are the processes of its session that still run though it has
	// ended. A signal reaches them, and what they write is added to the output.
	Left []LeftProcess `json:"left,omitempty"`
	// TimedOutMS, only in Waymark, is the timeout after which it was ended, in milliseconds;
	// absent if it wasn't.
	TimedOutMS int64 `json:"timed_out_ms,omitempty"`
}

// LeftProcess is a process that another one has left running.
type LeftProcess struct {
	// PID is its id in the system.
	PID int `json:"pid"`
	// Command is its command line; empty if it isn't known.
	Command string `json:"command"`
}

// ProcessUsage are the resources that a process used, including children that it waited
// for.
type ProcessUsage struct {
	// UserMS is processor time in user mode, in milliseconds.
	UserMS int64 `json:"user_ms"`
	// SystemMS is processor time in the kernel, in milliseconds.
	SystemMS int64 `json:"system_ms"`
	// MaxRSS is the peak memory of the largest of them, in bytes.
	MaxRSS int64 `json:"max_rss_bytes"`
	// WallMS is the elapsed time, in milliseconds.
	WallMS int64 `json:"wall_ms"`
	// OutputLen is the length of its output, in bytes.
	OutputLen int64 `json:"output_bytes"`
}

// HeaderOutput has a ProcessOutput as JSON when the body is raw output.
const HeaderOutput = "Waymark-Output"

// ProcessOutput answers GET /api/v0/processes/{id}/output. Without an offset it has the
// head and the tail of the output, with an offset the page there.
type ProcessOutput struct {
	// Output is standard output and standard error combined, as text.
	Output string `json:"output"`
	// Truncated is present if the head and the tail aren't everything.
	Truncated *OutputTruncated `json:"truncated,omitempty"`
	// Running says that the process hasn't ended.
	Running bool `json:"running"`
	// ExitCode is 128+N if signal N ended the process. It is absent while it runs, and if
	// it is unknown.
	ExitCode *int `json:"exit_code,omitempty"`

	// NextOffset, only in Waymark and for a page, is where the next page begins, in bytes
	// of the process's output.
	NextOffset *int64 `json:"next_offset,omitempty"`
	// Data, only in Waymark, is the raw output, instead of Output; only with
	// OutputOptions.Raw. It is the answer's body, and everything else is in HeaderOutput.
	Data []byte `json:"-"`
	// OmittedBytes, only in Waymark and for a page, is how much before Output is no longer
	// stored.
	OmittedBytes int64 `json:"omitted_bytes,omitempty"`
	// Lost, only in Waymark, says why it is unknown how the process ended.
	Lost string `json:"lost,omitempty"`
	// Left, only in Waymark, are the processes that it has left running.
	Left []LeftProcess `json:"left,omitempty"`
	// TimedOutMS, only in Waymark, is the timeout after which it was ended, in milliseconds;
	// absent if it wasn't.
	TimedOutMS int64 `json:"timed_out_ms,omitempty"`
}

// OutputTruncated says how much head and tail leave out.
type OutputTruncated struct {
	// OriginalBytes is the length of all output, in bytes.
	OriginalBytes int64 `json:"original_bytes"`
	// RetainedBytes is the length of what is shown, in bytes.
	RetainedBytes int64 `json:"retained_bytes"`
	// OmittedBytes is the length of what isn't shown, in bytes.
	OmittedBytes int64 `json:"omitted_bytes"`
	// Strategy says which parts are shown: the head and the tail.
	Strategy string `json:"strategy" enum:"head_tail"`
}

// OutputOptions select output. The zero value selects head and tail of the current output.
type OutputOptions struct {
	// Wait waits until the process has ended, 5 minutes at most.
	Wait bool
	// Offset, if not nil, selects the page there, in bytes.
	Offset *int64
	// Limit is the maximum length of the page, in bytes; 0 means the service's own limit.
	Limit int64
	// WaitFor is how long to wait for new output of a page or, with Wait, for the end.
	WaitFor time.Duration
	// Raw requests the page as ProcessOutput.Data.
	Raw bool
	// Terminal requests head and tail of what a terminal shows at the end.
	Terminal bool
}

// SignalProcess is the body of POST /api/v0/processes/{id}/signal.
type SignalProcess struct {
	// Signal is the signal to send. `interrupt` and `hangup` are only in Waymark.
	Signal string `json:"signal" enum:"terminate,kill,interrupt,hangup"`
}

// TokenStatus answers GET /api/v0/processes/tokens/{token}.
type TokenStatus struct {
	// Found says that a start with the token is known, and that its process may be seen.
	Found bool `json:"found"`
	// ProcessID is the process that it started; empty if Found is false.
	ProcessID string `json:"process_id"`
	// Pending says that the start is in progress.
	Pending bool `json:"pending"`
	// TokenIndexAgeMS is for how long tokens have been remembered without a gap, in
	// milliseconds.
	TokenIndexAgeMS int64 `json:"token_index_age_ms"`
}

// CancelTracked is the body of POST /api/v0/processes/cancel-tracked.
type CancelTracked struct {
	// ProcessID is the one of the start, a UUID.
	ProcessID string `json:"process_id"`
	// AgentInstanceID is the one of the start, a UUID.
	AgentInstanceID string `json:"agent_instance_id"`
	// InputDigest is the one of the start, a SHA-256 in hexadecimal.
	InputDigest string `json:"input_digest"`
	// Deadline is the one of the start, in RFC 3339.
	Deadline string `json:"deadline" required:"false"`
	// WaitMS is how long to wait for the end of the process, in milliseconds, 5 minutes at
	// most.
	WaitMS int64 `json:"wait_ms,omitempty" minimum:"0"`
}

// CancelledTracked answers POST /api/v0/processes/cancel-tracked.
type CancelledTracked struct {
	// AgentInstanceID identifies the supervisor that holds the processes. It outlives the
	// agent.
	AgentInstanceID string `json:"agent_instance_id"`
	// Fenced says that the process has never started and never will.
	Fenced bool `json:"fenced"`
	// Process is the process, if it has started.
	Process *Process `json:"process,omitempty"`
}

// ProcessStdin is the body of POST /api/v0/processes/{id}/stdin, which only Waymark has.
type ProcessStdin struct {
	// Data is the text to write, in UTF-8.
	Data string `json:"data,omitempty"`
	// DataBase64 is binary data to write, instead of Data.
	DataBase64 []byte `json:"data_base64,omitempty"`
	// Close closes standard input after writing.
	Close bool `json:"close,omitempty"`
}
