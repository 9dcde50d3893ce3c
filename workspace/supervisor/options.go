package supervisor

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"waymark/internal/atomicfile"
	"waymark/internal/defaults"
)

// Options say where the supervisor of a directory is and how it is started.
type Options struct {
	// Dir is the state directory, absolute. It belongs to one supervisor.
	Dir string
	// Socket is where a supervisor that has to be started listens; an absolute path
	// of at most 103 bytes. One that runs already is found where it is.
	Socket string
	// Program is the command line of the supervise role, without its argument; see
	// [Program].
	Program []string
	// Unit is the template of the systemd unit that starts a supervisor when the
	// agent runs as a service of a user, such as "waymark-supervisor@.service".
	// Empty never asks systemd.
	Unit string
	// Logger may be nil.
	Logger *slog.Logger
	// Limits are those of a supervisor that has to be started. One that runs
	// already has its own.
	Limits Limits
}

// Limits bound what a supervisor keeps. Fields that are 0 take the defaults.
type Limits struct {
	// Spool is how much output of one process is kept, and Spools of all, in
	// bytes on the disk: defaults.Spool and defaults.SpoolTotal.
	Spool, Spools int64
	// Head is how much of Spool is its first output, in bytes: 1 MiB. The rest is
	// the newest.
	Head int64
	// Processes is how many are held, running and ended ones: 10,000. Those that
	// have ended and are older than Retention are at most a fourth of that.
	Processes int
	// Receipts is how many tracked starts are remembered: 16,384.
	Receipts int
	// Retention is how long an ended process is held at least: 5 minutes.
	Retention time.Duration
	// WaitDelay is how long after the end of a process its output is waited for,
	// where something else has it open still: 5 seconds. What is written later is read
	// and thrown away. Closing the pipe instead, as os/exec does, would kill a server in
	// the background at its next line of output, hours later.
	WaitDelay time.Duration
	// Grace is how long after a SIGTERM of the supervisor's own comes SIGKILL: 5
	// seconds.
	Grace time.Duration
}

// Or returns the limits with what is 0 taken from other.
func (l Limits) Or(other Limits) Limits { return defaults.Or(l, other) }

// DefaultLimits are what Limits of 0 mean.
var DefaultLimits = Limits{
	Spool: defaults.Spool, Spools: defaults.SpoolTotal, Head: 1 << 20,
	Processes: 10_000, Receipts: 16_384,
	Retention: 5 * time.Minute, WaitDelay: 5 * time.Second, Grace: 5 * time.Second,
}

// Files in the state directory.
const (
	optionsFile = "options.json"    // what a supervisor that starts is to do
	runningFile = "supervisor.json" // who runs, and where it listens
	lockFile    = "lock"            // locked by who runs
	keyFile     = "key"             // what both ends must know
	logFile     = "log"
	heldDir     = "held" // a directory for each process
)

// maxSocket is how long a path of a socket may be, in bytes. The kernels differ:
// Linux takes 107, macOS 103.
const maxSocket = 103

// startOptions is optionsFile.
type startOptions struct {
	Socket string
	Limits Limits
}

// running is runningFile. Its fields keep their meaning in all versions: it is
// how agents of other versions find out what runs.
type running struct {
	Instance string
	PID      int
	Socket   string
	Version  string
}

func (o *Options) check() error {
	switch {
	case !filepath.IsAbs(o.Dir) || !filepath.IsAbs(o.Socket):
		return errors.New("the state directory and the socket of a supervisor must be absolute paths")
	case len(o.Socket) > maxSocket:
		return fmt.Errorf("the path of the supervisor's socket has %d bytes, and systems take %d: %s", len(o.Socket), maxSocket, o.Socket)
	case len(o.Program) == 0:
		return errors.New("there is no program to hold processes")
	}
	return nil
}

func writeJSON(path string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return atomicfile.WriteFile(path, data, 0o600)
}

func readJSON(path string, v any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// privateDir makes a directory, whose parents may be missing, that is for this
// user alone.
func privateDir(path string) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return &fs.PathError{Op: "mkdir", Path: path, Err: fs.ErrExist}
	}
	return nil
}
