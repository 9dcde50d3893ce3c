package supervisor

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/google/uuid"

	"waymark/agentapi"
	"waymark/workspace/launch"
)

var (
	// ErrNotFound says that no process with this id is held.
	ErrNotFound = errors.New("there is no such process")
	// ErrExited says that the process has ended already.
	ErrExited = errors.New("the process has ended")
	// ErrConflict says that the token or the id belongs to another start.
	ErrConflict = errors.New("it belongs to another start")
	// ErrExpired says that the deadline of a tracked start has passed, or that the start
	// was fenced off.
	ErrExpired = errors.New("its time is over")
	// ErrFull says that a limit of held processes or receipts is reached.
	ErrFull = errors.New("no more can be held")
	// ErrNoStdin says that the process has no open standard input.
	ErrNoStdin = errors.New("its standard input is closed")
	// ErrNoTerminal says that the process doesn't run on a terminal.
	ErrNoTerminal = errors.New("it doesn't run on a terminal")
	// ErrInstance says that the supervisor has been replaced by another instance.
	ErrInstance = errors.New("what holds the processes is another one now")
	// ErrLost says that the supervisor is gone.
	ErrLost = errors.New("what holds the processes is gone")
)

// Spec is what to start. It is part of the protocol: fields are only added.
type Spec struct {
	// ID is the process's id: at most 128 letters, digits and ._-; if it is empty, the
	// supervisor makes one.
	ID   string
	Argv []string // found in PATH of Env
	Dir  string
	Env  []string // the complete environment
	// Stdin keeps standard input open.
	Stdin bool
	// PTY runs it on a terminal of this size.
	PTY *agentapi.TerminalSize
	// Timeout is when to end it; 0 means never.
	Timeout time.Duration
	// Profile confines it; nil doesn't. The error is launch.ErrUnsupported if the kernel
	// can't enforce it.
	Profile *launch.Profile
	// Limits are those of launch.Spec. A supervisor of an older version, which outlives an
	// update of the agent, ignores them.
	Limits map[string]uint64 `json:",omitempty"`
	// Nice is added to the niceness, OOMScore is set.
	Nice, OOMScore int

	// Stored with the process and returned in Info.
	Command    string
	Background bool
	Chat       uuid.UUID
	// Fence says, in the caller's words, what the process is restricted to.
	Fence string

	// Token makes the start happen only once. Input must be the same for all starts with a
	// token.
	Token, Input string
	// Tracked, if not nil, makes the start a tracked one, which leaves a receipt.
	Tracked *Tracked
}

// Tracked identifies a start that its caller can query and fence off.
type Tracked struct {
	InstanceID  string
	InputDigest string
	// Deadline is the latest time for the start; zero means none.
	Deadline time.Time
}

// over reports whether the deadline has passed.
func (t *Tracked) over(now time.Time) bool { return !t.Deadline.IsZero() && !now.Before(t.Deadline) }

// Info is the state of a process.
type Info struct {
	agentapi.Process
	Chat uuid.UUID
	// Fence is that of the Spec.
	Fence string
	// Started is the exact time of the start.
	Started time.Time
	// Length is the length of its output so far, in bytes.
	Length int64
	PID    int
}

// Page is a piece of output.
type Page struct {
	// Data begins at Offset, which is above the requested offset if older output was
	// dropped.
	Data   []byte
	Offset int64
	// Length is the length of all output so far.
	Length int64
	// Info is from before Data was read: if it says that the process has ended, no output
	// follows.
	Info Info
}

// Client is the agent's view of a supervisor. Its methods may be called by any number of
// goroutines, and end with their contexts.
type Client interface {
	// Instance identifies the supervisor. A new supervisor is another instance.
	Instance(ctx context.Context) (string, error)
	// Start starts a process, or attaches to the one that the same token has started.
	Start(ctx context.Context, spec *Spec) (info Info, attached bool, err error)
	// List returns all held processes, including those of an earlier supervisor, in no
	// particular order.
	List(ctx context.Context) ([]Info, error)
	// Detached returns the pids of processes that are left of others which have ended. Only
	// Linux, which has subreapers, knows them.
	Detached(ctx context.Context) (pids []int, err error)
	Get(ctx context.Context, id string) (Info, error)
	// Read returns the output at offset, at most limit bytes. If there is none yet, it
	// waits for output or the end, at most for wait.
	Read(ctx context.Context, id string, offset int64, limit int, wait time.Duration) (Page, error)
	// Wait returns when the process has ended. It returns ErrLost if the supervisor ends
	// first.
	Wait(ctx context.Context, id string) (Info, error)
	// Signal sends a signal to the process's group.
	Signal(ctx context.Context, id string, signal os.Signal) error
	// WriteStdin writes to the standard input and, if end is true, closes it. A terminal
	// gets the end-of-input character instead.
	WriteStdin(ctx context.Context, id string, data []byte, end bool) error
	Resize(ctx context.Context, id string, size agentapi.TerminalSize) error
	// Token returns the process that a token has started. age is for how long tokens have
	// been remembered.
	Token(ctx context.Context, token string) (id string, found, pending bool, age time.Duration, err error)
	// Cancel fences a tracked start off, and ends its process if it has started. info is
	// its state after at most wait, or nil if it never started. ErrExpired says that the
	// deadline of a start that never happened has passed, so that there was nothing to
	// fence off.
	Cancel(ctx context.Context, id string, t Tracked, wait time.Duration) (fenced bool, info *Info, err error)

	// StartOwned starts a process that ends with the agent, together with everything that
	// it has started. Its output isn't stored.
	StartOwned(ctx context.Context, spec *Spec) (Owned, error)

	// Stop ends everything that is held, including detached processes, and the supervisor
	// itself.
	Stop(ctx context.Context) error
	// Close disconnects; held processes keep running.
	Close() error
}

// Owned is a process that ends with the agent.
type Owned interface {
	Stdin() io.WriteCloser
	Stdout() io.ReadCloser
	Stderr() io.ReadCloser
	// Wait returns when the process has ended.
	Wait(ctx context.Context) (exitCode int, err error)
	// Signal sends a signal to the process's group.
	Signal(signal os.Signal) error
	// Close ends the process's group and everything that has left it.
	Close() error
}
