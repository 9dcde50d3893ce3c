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
	// ErrNotFound says that nothing is held under that id.
	ErrNotFound = errors.New("there is no such process")
	// ErrExited says that the process has ended already.
	ErrExited = errors.New("the process has ended")
	// ErrConflict says that the token or the id belongs to another start.
	ErrConflict = errors.New("it belongs to another start")
	// ErrExpired says that the deadline of a tracked start has passed, or that it
	// was fenced off.
	ErrExpired = errors.New("its time is over")
	// ErrFull says that no more can be held.
	ErrFull = errors.New("no more can be held")
	// ErrNoStdin says that the process has no open standard input.
	ErrNoStdin = errors.New("its standard input is closed")
	// ErrNoTerminal says that the process doesn't run on a terminal.
	ErrNoTerminal = errors.New("it doesn't run on a terminal")
	// ErrInstance says that what held the processes has been replaced.
	ErrInstance = errors.New("what holds the processes is another one now")
	// ErrLost says that the supervisor is gone.
	ErrLost = errors.New("what holds the processes is gone")
)

// Spec is what to start. It is part of the protocol: fields are only added.
type Spec struct {
	// ID is the process's, at most 128 letters, digits and ._-; empty lets the
	// supervisor make one.
	ID   string
	Argv []string // resolved by PATH of Env
	Dir  string
	Env  []string // all of it
	// Stdin keeps standard input open.
	Stdin bool
	// PTY runs it on a terminal of that size.
	PTY *agentapi.TerminalSize
	// Timeout ends it; 0 is never.
	Timeout time.Duration
	// Profile confines it; nil doesn't. It is launch.ErrUnsupported where the kernel
	// can't.
	Profile *launch.Profile
	// Limits are launch.Spec's. An older supervisor, which runs on while the agent is
	// replaced, doesn't know of them.
	Limits map[string]uint64 `json:",omitempty"`
	// Nice and OOMScore are added to, and set for, the process.
	Nice, OOMScore int

	// What is kept with it and told again.
	Command    string
	Background bool
	Chat       uuid.UUID
	// Fence is what the process is kept from, in words of the caller's.
	Fence string

	// Token makes the start happen once; Input is compared for it.
	Token, Input string
	// Tracked, if not nil, is checked and kept as a receipt.
	Tracked *Tracked
}

// Tracked is a start that its caller can ask after and fence off.
type Tracked struct {
	InstanceID  string
	InputDigest string
	// Deadline is zero for never.
	Deadline time.Time
}

// over reports whether the deadline has passed.
func (t *Tracked) over(now time.Time) bool { return !t.Deadline.IsZero() && !now.Before(t.Deadline) }

// Info is how a process is doing.
type Info struct {
	agentapi.Process
	Chat uuid.UUID
	// Fence is the Spec's.
	Fence string
	// Started is when it was started, more exactly than Process tells.
	Started time.Time
	// Length is how many bytes it has written so far.
	Length int64
	PID    int
}

// Page is a piece of output.
type Page struct {
	// Data begins at Offset, which is above what was asked for where the spool no
	// longer has that.
	Data   []byte
	Offset int64
	// Length is how much there is in all.
	Length int64
	// Info is of before Data was read, so that an end means that nothing follows.
	Info Info
}

// Client is a supervisor as the agent sees it. Its methods may be called by any
// number of goroutines; they end with their contexts.
type Client interface {
	// Instance identifies the supervisor; it is a new one after its end.
	Instance(ctx context.Context) (string, error)
	// Start starts a process, or attaches to the one that the same token started.
	Start(ctx context.Context, spec *Spec) (info Info, attached bool, err error)
	// List returns all that are held, those of an earlier supervisor included, in
	// no order.
	List(ctx context.Context) ([]Info, error)
	// Detached returns the pids of processes that are left of others, which have ended.
	// Where there is no subreaper, so anywhere but on Linux, none is known.
	Detached(ctx context.Context) (pids []int, err error)
	Get(ctx context.Context, id string) (Info, error)
	// Read returns what stands at offset, at most limit bytes. Where there is
	// nothing yet it waits for a byte, or the end, for as long as wait.
	Read(ctx context.Context, id string, offset int64, limit int, wait time.Duration) (Page, error)
	// Wait returns when the process has ended, or when ctx does. It is ErrLost when
	// the supervisor ends meanwhile.
	Wait(ctx context.Context, id string) (Info, error)
	// Signal sends a signal to the process's group.
	Signal(ctx context.Context, id string, signal os.Signal) error
	// WriteStdin writes to the standard input and then, with end, closes it; a
	// terminal gets the character for the end of input.
	WriteStdin(ctx context.Context, id string, data []byte, end bool) error
	Resize(ctx context.Context, id string, size agentapi.TerminalSize) error
	// Token returns the process that a token has started.
	Token(ctx context.Context, token string) (id string, found, pending bool, age time.Duration, err error)
	// Cancel fences a tracked start off, and ends it if it has begun: the info is
	// how it is doing after wait at most. It is nil for one that never began.
	// ErrExpired says that there was nothing to fence off: it never began, and its
	// deadline has passed.
	Cancel(ctx context.Context, id string, t Tracked, wait time.Duration) (fenced bool, info *Info, err error)

	// StartOwned starts a process that ends, with all that it has started, when
	// the agent does. Its output isn't kept.
	StartOwned(ctx context.Context, spec *Spec) (Owned, error)

	// Stop ends everything that is held, detached grandchildren included, and the
	// supervisor itself.
	Stop(ctx context.Context) error
	// Close lets go: what is held runs on.
	Close() error
}

// Owned is a process that belongs to the agent.
type Owned interface {
	Stdin() io.WriteCloser
	Stdout() io.ReadCloser
	Stderr() io.ReadCloser
	// Wait returns when it has ended.
	Wait(ctx context.Context) (exitCode int, err error)
	// Signal sends a signal to its group.
	Signal(signal os.Signal) error
	// Close ends its whole group and what has left it.
	Close() error
}
