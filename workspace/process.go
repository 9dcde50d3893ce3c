package workspace

import (
	"time"
)

// StartProcess is the body of POST /api/v0/processes/start.
type StartProcess struct {
	// Command is run by sh -c. Empty only where Argv is given.
	Command string `json:"command"`
	// WorkDir is where it runs; empty means the workspace's directory, or the
	// home directory where that isn't there.
	WorkDir string            `json:"workdir,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	// Background is remembered and told; every process runs independently of
	// the request.
	Background bool `json:"background,omitempty"`
	// ClientToken makes a start happen once: the same token with the same input
	// is attached to what the first one started.
	ClientToken string `json:"client_token,omitempty"`

	// ProcessID, AgentInstanceID, InputDigest and Deadline (RFC 3339) belong
	// together: a tracked start. InputDigest is compared, never computed anew.
	ProcessID       string `json:"process_id,omitempty"`
	AgentInstanceID string `json:"agent_instance_id,omitempty"`
	InputDigest     string `json:"input_digest,omitempty"`
	Deadline        string `json:"deadline,omitempty"`

	// Argv, Waymark's, runs a program without a shell, in place of Command.
	Argv []string `json:"argv,omitempty"`
	// Stdin, Waymark's, keeps standard input open for WriteStdin.
	Stdin bool `json:"stdin,omitempty"`
	// PTY, Waymark's, runs it on a pseudo-terminal.
	PTY *TerminalSize `json:"pty,omitempty"`
	// TimeoutMS, Waymark's, ends it after so many milliseconds: SIGTERM to its
	// group, SIGKILL later. 0 is never.
	TimeoutMS int64 `json:"timeout_ms,omitempty"`
	// Profile, Waymark's, narrows what it may do; see package launch. Empty means
	// what the token's grant asks for.
	Profile string `json:"profile,omitempty"`
}

// TerminalSize is in characters.
type TerminalSize struct {
	Rows uint16 `json:"rows"`
	Cols uint16 `json:"cols"`
}

// StartedProcess answers a start.
type StartedProcess struct {
	ID      string `json:"id"`
	Started bool   `json:"started"`
	// ClientToken repeats the request's.
	ClientToken string `json:"client_token,omitempty"`
	// Attached says that an earlier request with the same token has started it.
	Attached bool `json:"attached,omitempty"`
	// AgentInstanceID identifies what holds the processes. It outlives the agent.
	AgentInstanceID string `json:"agent_instance_id"`
}

// ProcessList answers GET /api/v0/processes/list: running ones first, then the
// newest; at most 10.
type ProcessList struct {
	Processes       []Process `json:"processes"` // never null
	AgentInstanceID string    `json:"agent_instance_id"`
}

// Process is a process as it is listed.
type Process struct {
	ID         string `json:"id"`
	Command    string `json:"command"`
	WorkDir    string `json:"workdir"`
	Background bool   `json:"background"`
	Running    bool   `json:"running"`
	// ExitCode is 128+N when signal N has ended it. Nil while it runs, and where
	// nobody knows.
	ExitCode      *int   `json:"exit_code,omitempty"`
	StartedAtUnix int64  `json:"started_at_unix"`
	ExitedAtUnix  *int64 `json:"exited_at_unix,omitempty"`

	// Lost, Waymark's, says why nothing more can be known of it: what held it has
	// ended, say.
	Lost string `json:"lost,omitempty"`
	// ChatID, Waymark's, is the chat that started it.
	ChatID string `json:"chat_id,omitempty"`
	// Usage, Waymark's, is what it has used; nil until it has ended.
	Usage *ProcessUsage `json:"usage,omitempty"`
}

// ProcessUsage is what a process and its children that it waited for have used.
type ProcessUsage struct {
	UserMS    int64 `json:"user_ms"`
	SystemMS  int64 `json:"system_ms"`
	MaxRSS    int64 `json:"max_rss_bytes"`
	WallMS    int64 `json:"wall_ms"`
	OutputLen int64 `json:"output_bytes"`
}

// HeaderOutput has a ProcessOutput as JSON where the body is what was written, to
// the byte.
const HeaderOutput = "Waymark-Output"

// ProcessOutput answers GET /api/v0/processes/{id}/output: without an offset the
// head and the tail, with one what stands there.
type ProcessOutput struct {
	Output    string           `json:"output"`
	Truncated *OutputTruncated `json:"truncated,omitempty"`
	Running   bool             `json:"running"`
	ExitCode  *int             `json:"exit_code,omitempty"`

	// NextOffset, Waymark's, is where the next page begins, in bytes as the
	// process wrote them; there with an offset only.
	NextOffset *int64 `json:"next_offset,omitempty"`
	// Data, Waymark's, is in place of Output what the process wrote, to the byte;
	// there with OutputOptions.Raw only. It is the answer's body then, and all else
	// is in HeaderOutput.
	Data []byte `json:"-"`
	// OmittedBytes, Waymark's, is how much before Output the bounded spool no longer
	// has.
	OmittedBytes int64 `json:"omitted_bytes,omitempty"`
	// Lost, Waymark's; see [Process].
	Lost string `json:"lost,omitempty"`
}

// OutputTruncated says what head and tail leave out.
type OutputTruncated struct {
	OriginalBytes int64  `json:"original_bytes"`
	RetainedBytes int64  `json:"retained_bytes"`
	OmittedBytes  int64  `json:"omitted_bytes"`
	Strategy      string `json:"strategy"` // "head_tail"
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

// SignalProcess is the body of POST /api/v0/processes/{id}/signal: "kill" or
// "terminate"; Waymark's are "interrupt" and "hangup".
type SignalProcess struct {
	Signal string `json:"signal"`
}

// TokenStatus answers GET /api/v0/processes/tokens/{token}.
type TokenStatus struct {
	Found           bool   `json:"found"`
	ProcessID       string `json:"process_id"`
	Pending         bool   `json:"pending"`
	TokenIndexAgeMS int64  `json:"token_index_age_ms"`
}

// CancelTracked is the body of POST /api/v0/processes/cancel-tracked.
type CancelTracked struct {
	ProcessID       string `json:"process_id"`
	AgentInstanceID string `json:"agent_instance_id"`
	InputDigest     string `json:"input_digest"`
	Deadline        string `json:"deadline"`
	WaitMS          int64  `json:"wait_ms,omitempty"`
}

// CancelledTracked answers it. Fenced says that the process can't start any more.
type CancelledTracked struct {
	AgentInstanceID string   `json:"agent_instance_id"`
	Fenced          bool     `json:"fenced"`
	Process         *Process `json:"process,omitempty"`
}

// ProcessStdin is the body of POST /api/v0/processes/{id}/stdin, Waymark's. Data is
// written first, then Close closes.
type ProcessStdin struct {
	Data string `json:"data,omitempty"`
	// DataBase64 is for what isn't text, in place of Data.
	DataBase64 []byte `json:"data_base64,omitempty"`
	Close      bool   `json:"close,omitempty"`
}
