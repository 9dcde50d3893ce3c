package agentapi

import (
	"time"
)

// StartProcess is the body of POST /api/v0/processes/start.
type StartProcess struct {
	// Command is run by `sh -c`. It is empty only where Argv is given.
	Command string `json:"command" maxLength:"131071" required:"false"`
	// WorkDir is where it runs: an absolute path, one that begins with `~/`, or one relative to
	// the workspace's directory. Empty means the workspace's directory, or the home directory
	// where that isn't there.
	WorkDir string `json:"workdir,omitempty"`
	// Env has variables beside the agent's own, which they replace.
	Env map[string]string `json:"env,omitempty"`
	// Background is remembered and told; every process runs independently of the request.
	Background bool `json:"background,omitempty"`
	// ClientToken makes a start happen once: the same token with the same input is attached to
	// what the first one started.
	ClientToken string `json:"client_token,omitempty" maxLength:"1024"`

	// ProcessID, of a tracked start, is the id that the process gets, a UUID.
	ProcessID string `json:"process_id,omitempty"`
	// AgentInstanceID, of a tracked start, is what is meant to hold the process, a UUID.
	AgentInstanceID string `json:"agent_instance_id,omitempty"`
	// InputDigest, of a tracked start, is a SHA-256 in hexadecimal. It is compared, and never
	// computed anew.
	InputDigest string `json:"input_digest,omitempty"`
	// Deadline, of a tracked start, is until when it may begin, as in RFC 3339.
	Deadline string `json:"deadline,omitempty"`

	// Argv, Waymark's, is a program with its arguments, in place of Command: no shell runs it.
	Argv []string `json:"argv,omitempty"`
	// Stdin, Waymark's, keeps standard input open, to be written to later.
	Stdin bool `json:"stdin,omitempty"`
	// PTY, Waymark's, runs it on a pseudo-terminal of that size; of 24 rows and 80 columns where
	// both are 0.
	PTY *TerminalSize `json:"pty,omitempty"`
	// TimeoutMS, Waymark's, ends it after so many milliseconds: SIGTERM to its group, SIGKILL
	// later. 0 is never.
	TimeoutMS int64 `json:"timeout_ms,omitempty" minimum:"0" maximum:"2592000000"`
	// Profile, Waymark's, narrows what the token allows it: `secrets` hides the places of secrets,
	// `plan` lets it write nothing but the plan's file and a private temporary directory. Empty
	// means what the token asks for.
	Profile string `json:"profile,omitempty" enum:"none,secrets,plan,"`
}

// TerminalSize is in characters.
type TerminalSize struct {
	// Rows are the lines.
	Rows uint16 `json:"rows"`
	// Cols are the characters of a line.
	Cols uint16 `json:"cols"`
}

// StartedProcess answers a start.
type StartedProcess struct {
	// ID names the process.
	ID string `json:"id" minLength:"1"`
	// Started says that this request has started it.
	Started bool `json:"started"`
	// ClientToken repeats the request's.
	ClientToken string `json:"client_token,omitempty"`
	// Attached says that an earlier request with the same token or id has started it.
	Attached bool `json:"attached,omitempty"`
	// AgentInstanceID identifies what holds the processes. It outlives the agent.
	AgentInstanceID string `json:"agent_instance_id"`
}

// ProcessList answers GET /api/v0/processes/list.
type ProcessList struct {
	// Processes are running ones first, then the newest.
	Processes []Process `json:"processes"`
	// AgentInstanceID identifies what holds the processes. It outlives the agent.
	AgentInstanceID string `json:"agent_instance_id"`
}

// Process is a process as it is listed.
type Process struct {
	// ID names it.
	ID string `json:"id"`
	// Command is what was asked for: a command for `sh -c`, or the words of an argv as a shell
	// would be told them.
	Command string `json:"command"`
	// WorkDir is where it was started, an absolute path.
	WorkDir string `json:"workdir"`
	// Background is as its start said.
	Background bool `json:"background"`
	// Running says that it hasn't ended.
	Running bool `json:"running"`
	// ExitCode is 128+N when signal N has ended it. It is left out while it runs, and where nobody
	// knows.
	ExitCode *int `json:"exit_code,omitempty"`
	// StartedAtUnix is when it was started, in seconds since 1970.
	StartedAtUnix int64 `json:"started_at_unix"`
	// ExitedAtUnix is when it ended, in seconds since 1970; left out while it runs.
	ExitedAtUnix *int64 `json:"exited_at_unix,omitempty"`

	// Lost, Waymark's, says why nobody knows how it has ended: what held it has ended, say.
	Lost string `json:"lost,omitempty"`
	// ChatID, Waymark's, is the chat that started it.
	ChatID string `json:"chat_id,omitempty"`
	// Usage, Waymark's, is what it has used; left out until it has ended.
	Usage *ProcessUsage `json:"usage,omitempty"`
}

// ProcessUsage is what a process and its children that it waited for have used.
type ProcessUsage struct {
	// UserMS is processor time in the programs, in milliseconds.
	UserMS int64 `json:"user_ms"`
	// SystemMS is processor time in the kernel, in milliseconds.
	SystemMS int64 `json:"system_ms"`
	// MaxRSS is the most memory that one of them had at once, in bytes.
	MaxRSS int64 `json:"max_rss_bytes"`
	// WallMS is how long it ran, in milliseconds.
	WallMS int64 `json:"wall_ms"`
	// OutputLen is how much it has written, in bytes.
	OutputLen int64 `json:"output_bytes"`
}

// HeaderOutput has a ProcessOutput as JSON where the body is what was written, to
// the byte.
const HeaderOutput = "Waymark-Output"

// ProcessOutput answers GET /api/v0/processes/{id}/output: without an offset the
// head and the tail, with one what stands there.
type ProcessOutput struct {
	// Output is what was written, as text: standard output and standard error in one.
	Output string `json:"output"`
	// Truncated is there where the head and the tail aren't all.
	Truncated *OutputTruncated `json:"truncated,omitempty"`
	// Running says that the process hasn't ended.
	Running bool `json:"running"`
	// ExitCode is 128+N when signal N has ended it. It is left out while it runs, and where nobody
	// knows.
	ExitCode *int `json:"exit_code,omitempty"`

	// NextOffset, Waymark's, of a page, is where the next page begins, in bytes as the process
	// wrote them.
	NextOffset *int64 `json:"next_offset,omitempty"`
	// Data, Waymark's, is in place of Output what the process wrote, to the byte;
	// there with OutputOptions.Raw only. It is the answer's body then, and all else
	// is in HeaderOutput.
	Data []byte `json:"-"`
	// OmittedBytes, Waymark's, of a page, is how much before Output is no longer held.
	OmittedBytes int64 `json:"omitted_bytes,omitempty"`
	// Lost, Waymark's, says why nobody knows how the process has ended.
	Lost string `json:"lost,omitempty"`
}

// OutputTruncated says what head and tail leave out.
type OutputTruncated struct {
	// OriginalBytes is how much the process has written.
	OriginalBytes int64 `json:"original_bytes"`
	// RetainedBytes is how much of it is shown.
	RetainedBytes int64 `json:"retained_bytes"`
	// OmittedBytes is how much of it isn't.
	OmittedBytes int64 `json:"omitted_bytes"`
	// Strategy says what is shown: the head and the tail.
	Strategy string `json:"strategy" enum:"head_tail"`
}

// OutputOptions say which output is wanted. The zero value wants head and tail of
// what there is.
type OutputOptions struct {
	// Wait blocks until the process has ended, 5 minutes at most.
	Wait bool
	// Offset, if not nil, wants a page from there, in bytes.
	Offset *int64
	// Limit bounds the page, in bytes; 0 is the service's own.
	Limit int64
	// WaitFor is how long to wait for a new byte, of a page; with Wait, for the
	// end.
	WaitFor time.Duration
	// Raw wants a page as ProcessOutput.Data, to the byte.
	Raw bool
}

// SignalProcess is the body of POST /api/v0/processes/{id}/signal.
type SignalProcess struct {
	// Signal is what is sent; the last two are Waymark's.
	Signal string `json:"signal" enum:"terminate,kill,interrupt,hangup"`
}

// TokenStatus answers GET /api/v0/processes/tokens/{token}.
type TokenStatus struct {
	// Found says that a start with the token is known, and that its process may be seen.
	Found bool `json:"found"`
	// ProcessID is what it has started; empty where it isn't found.
	ProcessID string `json:"process_id"`
	// Pending says that the start is under way.
	Pending bool `json:"pending"`
	// TokenIndexAgeMS is for how long tokens have been remembered without a gap, in milliseconds.
	TokenIndexAgeMS int64 `json:"token_index_age_ms"`
}

// CancelTracked is the body of POST /api/v0/processes/cancel-tracked.
type CancelTracked struct {
	// ProcessID is that of the start, a UUID.
	ProcessID string `json:"process_id"`
	// AgentInstanceID is that of the start, a UUID.
	AgentInstanceID string `json:"agent_instance_id"`
	// InputDigest is that of the start, a SHA-256 in hexadecimal.
	InputDigest string `json:"input_digest"`
	// Deadline is that of the start, as in RFC 3339.
	Deadline string `json:"deadline" required:"false"`
	// WaitMS is how long to wait for the process's end, in milliseconds, 5 minutes at most.
	WaitMS int64 `json:"wait_ms,omitempty" minimum:"0"`
}

// CancelledTracked answers POST /api/v0/processes/cancel-tracked.
type CancelledTracked struct {
	// AgentInstanceID identifies what holds the processes. It outlives the agent.
	AgentInstanceID string `json:"agent_instance_id"`
	// Fenced says that the process has never started, and can't any more.
	Fenced bool `json:"fenced"`
	// Process is how it is doing, if it has started.
	Process *Process `json:"process,omitempty"`
}

// ProcessStdin is the body of POST /api/v0/processes/{id}/stdin, Waymark's.
type ProcessStdin struct {
	// Data is written, as UTF-8.
	Data string `json:"data,omitempty"`
	// DataBase64 is for what isn't text, in place of Data.
	DataBase64 []byte `json:"data_base64,omitempty"`
	// Close closes standard input, behind what is written.
	Close bool `json:"close,omitempty"`
}
