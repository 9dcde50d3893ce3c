package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"waymark/internal/errtext"
	"waymark/internal/text"
)

// Roles of the supervisor's program.
const (
	// RoleSupervise holds the processes of a state directory, its argument.
	RoleSupervise = "supervise"
	// RoleGuard guards one owned process. The supervisor starts it.
	RoleGuard = "guard"
	// RoleStarter starts the confined processes of one chat. The supervisor starts it.
	RoleStarter = "starter"
)

// errUnsupported is the answer to an unknown method, also of older versions.
var errUnsupported = errors.ErrUnsupported

// errRunning says that another supervisor has the directory.
var errRunning = errors.New("another supervisor holds this directory")

// exitRunning is the exit code for errRunning.
const exitRunning = 3

// readyLine is what a supervisor prints when it listens, before it closes its standard
// output.
const readyLine = "ready\n"

// Main is the supervise role. It holds the processes of a state directory until there are
// none, and returns the exit code. Nothing else may run in the process.
func Main(args []string) int {
	if len(args) != 1 || !filepath.IsAbs(args[0]) {
		fmt.Fprintln(os.Stderr, "supervise needs one argument, the absolute path of a state directory")
		return 2
	}
	runtime.GOMAXPROCS(min(runtime.GOMAXPROCS(0), 2)) // it mostly copies, and a machine may have many
	debug.SetGCPercent(50)
	err := supervise(args[0], tellReady)
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errRunning):
		return exitRunning
	}
	fmt.Fprintln(os.Stderr, "supervisor:", text.Line(errtext.Of(err), 4<<10))
	return 1
}

// tellReady notifies the agent or systemd that started this program, and closes the
// inherited streams.
func tellReady() {
	fmt.Fprint(os.Stdout, readyLine)
	noStreams()
	address := os.Getenv("NOTIFY_SOCKET")
	if address == "" {
		return
	}
	if address[0] == '@' {
		address = "\x00" + address[1:]
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: address, Net: "unixgram"})
	if err == nil {
		_, _ = conn.Write([]byte("READY=1"))
		_ = conn.Close()
	}
}

// noStreams redirects the standard streams to /dev/null.
func noStreams() {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return
	}
	defer func() { _ = null.Close() }()
	for fd := range 3 {
		_ = redirect(int(null.Fd()), fd)
	}
}

func supervise(dir string, ready func()) error {
	if err := privateDir(dir); err != nil {
		return err
	}
	lock, err := takeLock(dir)
	if err != nil {
		return err
	}
	// Release the lock last, when all files are written and closed.
	defer func() { _ = lock.Close() }()
	var o startOptions
	err = readJSON(filepath.Join(dir, optionsFile), &o)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("no agent has said what to hold in %s: agents write %s there and start this program by themselves", dir, optionsFile)
	}
	if err != nil {
		return err
	}
	log, err := openLog(filepath.Join(dir, logFile))
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	logger := slog.New(slog.NewTextHandler(log, nil))
	if err := becomeSubreaper(); err != nil {
		logger.Warn("detached processes can't be ended with what has started them", slog.Any("error", err))
	}
	key, err := makeKey(dir)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(dir, heldDir), 0o700); err != nil {
		return err
	}
	s := newServer(dir, o.Limits.Or(DefaultLimits), logger)
	s.recover()
	return s.run(o.Socket, key, ready)
}

// takeLock locks a state directory. A supervisor that is ending closes its socket before it
// releases the lock.
func takeLock(dir string) (*flock.Flock, error) {
	lock := flock.New(filepath.Join(dir, lockFile), flock.SetPermissions(0o600))
	for tries := 0; ; tries++ {
		ok, err := lock.TryLock()
		if ok || err != nil {
			return lock, err
		}
		conn, err := dialRunning(dir)
		if err == nil {
			_ = conn.Close()
			return nil, errRunning
		}
		if tries == 100 {
			return nil, errRunning
		}
		<-time.After(50 * time.Millisecond)
	}
}

// run serves until everything has ended, or a client ends it.
func (s *server) run(socket string, key []byte, ready func()) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var reaping sync.WaitGroup
	reaping.Go(func() { s.reaper.run(ctx) })
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	shrugOff()
	l, err := s.listen(socket)
	if err != nil {
		return err
	}
	var serving sync.WaitGroup
	serving.Go(func() { s.accept(l, key) })
	ready()
	s.logger.Info("ready", slog.String("instance", s.instance), slog.Int("held", len(s.held)))
	tick := time.NewTicker(max(10*time.Millisecond, min(5*time.Second, s.limits.Retention/4)))
	defer tick.Stop()
	for open := true; open; {
		select {
		case <-tick.C:
			open = !s.idle()
			if open && !isSocket(socket) {
				s.logger.Warn("the socket was removed and is made anew")
				_ = l.Close()
				if l, err = s.listen(socket); err != nil {
					return err
				}
				serving.Go(func() { s.accept(l, key) })
			}
		case <-signals:
			s.refuse()
			open = false
		case <-s.stop:
			s.refuse()
			open = false
		}
	}
	return s.finish(l, &reaping, cancel)
}

// shrugOff keeps signals from ending this process. They aren't ignored, because children
// would inherit that.
func shrugOff() { signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP, syscall.SIGPIPE) }

// finish closes the listener, and ends what is held.
func (s *server) finish(l *net.UnixListener, reaping *sync.WaitGroup, cancel context.CancelFunc) error {
	_ = os.Remove(filepath.Join(s.dir, runningFile))
	_ = l.Close()
	done := make(chan struct{})
	go func() { s.runs.Wait(); close(done) }()
	over := time.After(2 * (s.limits.Grace + s.limits.WaitDelay + 5*time.Second))
	for open := true; open; {
		// In a loop, because processes may still have been starting.
		if !s.endEverything() {
			s.logger.Warn("some processes can't be ended", slog.Int("processes", len(descendants(os.Getpid()))))
		}
		select {
		case <-done: // all exits are in the journal
			open = false
		case <-over:
			open = false
		case <-time.After(100 * time.Millisecond):
		}
	}
	cancel()
	reaping.Wait()
	s.logger.Info("ended")
	return nil
}

// endEverything ends all processes below this one. Without a subreaper, detached ones
// escape.
func (s *server) endEverything() bool {
	return endAll(func() []proc { return descendants(os.Getpid()) }, s.limits.Grace)
}

// detached returns the children that this process didn't start.
func (s *server) detached() []int {
	children := func() []int {
		pids := []int{}
		for _, p := range procs() {
			if p.parent == os.Getpid() && !p.zombie {
				pids = append(pids, p.pid)
			}
		}
		return pids
	}
	left := slices.DeleteFunc(children(), s.reaper.knows)
	if len(left) > 0 { // so that processes that ended meanwhile aren't reported as unknown
		there := children()
		left = slices.DeleteFunc(left, func(pid int) bool { return !slices.Contains(there, pid) })
	}
	return left
}

// shut makes run end.
func (s *server) shut() { s.stopOnce.Do(func() { close(s.stop) }) }

// refuse prevents further starts.
func (s *server) refuse() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ending = true
}

// idle reports whether nothing is held: no agent, no process (including detached ones), and
// none that ended recently. From then on nothing can be started.
func (s *server) idle() bool {
	s.mu.Lock()
	empty := s.empty()
	s.mu.Unlock()
	if empty {
		s.reaper.starters.end() // they are below this process, too
	}
	if !empty || s.reaper.any() || len(descendants(os.Getpid())) > 0 {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ending = s.empty() // unless an agent has connected meanwhile
	return s.ending
}

// empty reports whether no agent is connected and no process runs or ended recently. The
// caller holds mu.
func (s *server) empty() bool {
	young := time.Now().Add(-s.limits.Retention)
	for _, h := range s.held {
		if e := h.ended(); e.IsZero() || e.After(young) {
			return false
		}
	}
	return s.agents == 0
}

// listen opens the socket, and records where it is.
func (s *server) listen(socket string) (*net.UnixListener, error) {
	if err := privateDir(filepath.Dir(socket)); err != nil {
		return nil, err
	}
	// An existing socket is left over from an earlier supervisor, because this one has the
	// lock.
	if err := os.Remove(socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(socket, 0o600); err != nil { // children would inherit a umask
		_ = l.Close()
		return nil, err
	}
	r := running{Instance: s.instance, PID: os.Getpid(), Socket: socket, Version: programVersion()}
	if err := writeJSON(filepath.Join(s.dir, runningFile), r); err != nil {
		_ = l.Close()
		return nil, err
	}
	return l, nil
}

// isSocket reports whether the socket still exists. Programs that clean up temporary
// directories remove it.
func isSocket(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode().Type() == fs.ModeSocket
}

// accept serves connections until the listener is closed.
func (s *server) accept(l *net.UnixListener, key []byte) {
	for {
		conn, err := l.AcceptUnix()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil: // no descriptors, for example
			s.logger.Warn("a connection can't be taken", slog.Any("error", err))
			<-time.After(100 * time.Millisecond)
		default:
			go s.welcome(conn, key)
		}
	}
}

// welcome serves a connection after the handshake.
func (s *server) welcome(conn *net.UnixConn, key []byte) {
	defer func() { _ = conn.Close() }()
	s.mu.Lock()
	s.agents++
	ending := s.ending
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.agents--
		s.mu.Unlock()
	}()
	if ending {
		return
	}
	role, err := greet(conn, key, s.instance)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF): // the other side only checked whether a supervisor runs
	case err != nil:
		s.logger.Warn("a connection was refused", slog.Any("error", err))
	case role == roleCalls:
		s.serve(conn)
	case role == roleOwned:
		if err := s.guard(conn); err != nil {
			s.logger.Warn("an owned process can't be started", slog.Any("error", err))
			_ = writeFrame(conn, reply{Error: toWire(err)}, nil)
		}
	}
}

// dialRunning connects to the supervisor of a state directory.
func dialRunning(dir string) (*net.UnixConn, error) {
	data, err := os.ReadFile(filepath.Join(dir, runningFile))
	if err != nil {
		return nil, err
	}
	var r running
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, err
	}
	return net.DialUnix("unix", nil, &net.UnixAddr{Name: r.Socket, Net: "unix"})
}
