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

// Options say where the supervisor of a directory is, and how to start it.
type Options struct {
	// Dir is the absolute path of the state directory. Only one supervisor uses it.
	Dir string
	// Socket is the address of a new supervisor: an absolute path of at most 103 bytes. A
	// running one may listen elsewhere.
	Socket string
	// Program is the command line of the supervise role without its argument; see
	// [Program].
	Program []string
	// Unit is the systemd unit template that starts a supervisor if the agent is a user
	// service, such as "waymark-supervisor@.service". Empty means not to use systemd.
	Unit string
	// Logger may be nil.
	Logger *slog.Logger
	// Limits are for a new supervisor. A running one keeps its own.
	Limits Limits
}

// Limits limit what a supervisor keeps. 0 means the default.
type Limits struct {
	// Spool limits the stored output of one process, Spools that of all processes, in bytes
	// on disk. Defaults: defaults.Spool and defaults.SpoolTotal.
	Spool, Spools int64
	// Head is how much of Spool is reserved for the first output, in bytes; the rest is for
	// the newest. Default 1 MiB.
	Head int64
	// Processes limits how many processes are held, running or ended. At most a fourth of
	// them are ended ones older than Retention. Default 10,000.
	Processes int
	// Receipts limits the remembered tracked starts. Default 16,384.
	Receipts int
	// Retention is the minimum time for which an ended process is held. Default 5 minutes.
	Retention time.Duration
	// WaitDelay is how long a process counts as running after its exit, if another process
	// keeps its output open. What that writes later is kept, too. Default 1 second.
	WaitDelay time.Duration
	// Grace is the time between SIGTERM and SIGKILL when the supervisor ends a process.
	// Default 5 seconds.
	Grace time.Duration
}

// Or returns the limits, with other's values in place of 0.
func (l Limits) Or(other Limits) Limits { return defaults.Or(l, other) }

// DefaultLimits are the default limits.
var DefaultLimits = Limits{
	Spool: defaults.Spool, Spools: defaults.SpoolTotal, Head: 1 << 20,
	Processes: 10_000, Receipts: 16_384,
	Retention: 5 * time.Minute, WaitDelay: time.Second, Grace: 5 * time.Second,
}

// Files in the state directory.
const (
	optionsFile = "options.json"    // options for a new supervisor
	runningFile = "supervisor.json" // who runs, and where it listens
	lockFile    = "lock"            // held by the running supervisor
	keyFile     = "key"             // the shared key
	logFile     = "log"
	heldDir     = "held" // a directory for each process
)

// maxSocket is the maximum length of a socket's path, in bytes. Linux allows 107, macOS
// 103.
const maxSocket = 103

// startOptions is the content of optionsFile.
type startOptions struct {
	Socket string
	Limits Limits
}

// running is the content of runningFile. Its fields keep their meaning in all versions,
// because agents of other versions read it.
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

// privateDir makes a directory, with missing parents, that only this user can access.
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
