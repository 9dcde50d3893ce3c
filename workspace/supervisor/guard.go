package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"waymark/internal/reexec"
)

// A guard is the parent of one owned process, and a subreaper. Everything that the process
// starts stays below the guard, detached or not, and so can be told from other processes.
// The guard has the agent's connection and ends everything when that ends. It doesn't need
// the supervisor any more, and outlives one that is killed.

// Time limits for ending an owned process: to react to the end of its standard input, and
// then to SIGTERM, before SIGKILL.
const (
	ownedNotice = 300 * time.Millisecond
	ownedGrace  = 2 * time.Second
)

// connFD is the descriptor of a guard's connection.
const connFD = 3

// guard starts a guard for a connection. The first message on it has three descriptors, the
// streams.
func (s *server) guard(conn *net.UnixConn) error {
	streams, err := receiveFiles(conn, 3)
	defer func() {
		for _, f := range streams {
			_ = f.Close()
		}
	}()
	if err != nil {
		return err
	}
	file, err := conn.File()
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	path, args, err := self(RoleGuard)
	if err != nil {
		return err
	}
	attr := &syscall.ProcAttr{Dir: "/", Env: []string{}, Sys: &syscall.SysProcAttr{Setsid: true}}
	for _, f := range append(streams, file) {
		attr.Files = append(attr.Files, f.Fd())
	}
	s.mu.Lock()
	ending := s.ending
	s.mu.Unlock()
	if ending {
		return ErrLost
	}
	_, err = s.reaper.start(func() (int, error) {
		return syscall.ForkExec(path, args, attr) //nolint:gosec // this very program
	})
	return err
}

// self returns the command line of this program in another role. It keeps the prefix with
// which the program was started.
func self(role string) (path string, args []string, err error) {
	path, err = reexec.Executable()
	if err != nil {
		return "", nil, err
	}
	prefix := ""
	if len(os.Args) > 1 {
		prefix = strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(os.Args[1], RoleSupervise), RoleGuard), RoleStarter)
	}
	return path, []string{filepath.Base(os.Args[0]), prefix + role}, nil
}

// receiveFiles receives descriptors with a one-byte message.
func receiveFiles(conn *net.UnixConn, n int) ([]*os.File, error) {
	_ = conn.SetReadDeadline(time.Now().Add(helloTimeout))
	defer func() { _ = conn.SetReadDeadline(time.Time{}) }()
	space := make([]byte, unix.CmsgSpace(n*4))
	var b [1]byte
	_, oob, _, _, err := conn.ReadMsgUnix(b[:], space)
	if err != nil {
		return nil, err
	}
	messages, err := unix.ParseSocketControlMessage(space[:oob])
	if err != nil {
		return nil, err
	}
	var files []*os.File
	for i := range messages {
		fds, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			return files, err
		}
		for _, fd := range fds {
			unix.CloseOnExec(fd)
			files = append(files, os.NewFile(uintptr(fd), "stream"))
		}
	}
	if len(files) != n {
		return files, fmt.Errorf("%d descriptors came, not %d", len(files), n)
	}
	return files, nil
}

// Guard is the guard role; see [Roles].
func Guard([]string) int {
	runtime.GOMAXPROCS(1)
	file := os.NewFile(connFD, "connection")
	conn, err := net.FileConn(file)
	_ = file.Close()
	unixConn, ok := conn.(*net.UnixConn)
	if err != nil || !ok {
		fmt.Fprintln(os.Stderr, "guard is started by a supervisor")
		return 2
	}
	shrugOff()
	_ = becomeSubreaper() // without one, only groups can be ended
	g := &guarded{link: newLink(unixConn), reaper: newReaper(), ended: make(chan exit, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	var reaping sync.WaitGroup
	reaping.Go(func() { g.reaper.run(ctx) })
	g.run()
	cancel()
	reaping.Wait()
	g.link.close()
	return 0
}

// guarded is an owned process in its guard.
type guarded struct {
	link   *link
	reaper *reaper
	child  *child
	ended  chan exit
}

// Messages from an agent to a guard.
const (
	ownedStart  = "start"  // the first message; answered when the process runs
	ownedSignal = "signal" // not answered
)

// ownedStarted and ownedEnded identify the two messages of a guard.
const (
	ownedStarted uint64 = iota + 1
	ownedEnded
)

func (g *guarded) run() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	if err := g.start(); err != nil && g.child == nil {
		_ = g.link.send(context.Background(), reply{ID: ownedStarted, Error: toWire(err)}, nil)
		g.drain()
		return
	}
	left := make(chan struct{})
	go func() { defer close(left); g.receive() }()
	for open := true; open; {
		select {
		case e := <-g.child.exit:
			result, _ := json.Marshal(e.code) // an int always marshals
			_ = g.link.send(context.Background(), reply{ID: ownedEnded, Result: result}, nil)
		case <-left:
			open = false
		case <-signals:
			open = false
		}
	}
	below := func() []proc { return descendants(os.Getpid()) }
	for begin := time.Now(); !childless() && time.Since(begin) < ownedNotice; {
		<-time.After(20 * time.Millisecond)
	}
	// A look at /proc takes its time: who moves meanwhile, as an orphan does, is in none of
	// its places. Only the kernel knows at once whether anything is left.
	for begin := time.Now(); !childless() && time.Since(begin) < 2*(ownedGrace+endedSoon); {
		endAll(below, ownedGrace)
		<-time.After(time.Millisecond)
	}
}

func (g *guarded) start() error {
	head, _, err := g.link.receive()
	if err != nil {
		return err
	}
	var r request
	if err := decode(head, &r); err != nil {
		return err
	}
	if r.Method != ownedStart {
		return fmt.Errorf("%q isn't how an owned process begins: %w", r.Method, errUnsupported)
	}
	spec, err := specFromWire(r.Params)
	if err != nil {
		return err
	}
	if err := checkSpec(spec); err != nil {
		return err
	}
	g.child, err = startChild(g.reaper, spec, []*os.File{os.Stdin, os.Stdout, os.Stderr}, false)
	noStreams() // otherwise the agent would never see the end of the streams
	if err != nil {
		return err
	}
	result, err := json.Marshal(g.child.pid)
	if err != nil {
		return err
	}
	return g.link.send(context.Background(), reply{ID: ownedStarted, Result: result}, nil)
}

// receive handles the agent's messages until the connection ends.
func (g *guarded) receive() {
	for {
		head, _, err := g.link.receive()
		if err != nil {
			return
		}
		var r request
		var p signalParams
		if decode(head, &r) == nil && r.Method == ownedSignal && decode(r.Params, &p) == nil {
			_ = g.reaper.signal(g.child, syscall.Signal(p.Signal))
		}
	}
}

// drain waits until the agent has read everything.
func (g *guarded) drain() {
	for {
		if _, _, err := g.link.receive(); err != nil {
			return
		}
	}
}

// owned is an owned process in the agent.
type owned struct {
	link                  *link
	conn                  *net.UnixConn
	stdin, stdout, stderr *os.File
	done                  chan struct{} // closed when code or err is set
	gone                  chan struct{} // closed when the guard has ended
	code                  int
	err                   error
}

func startOwned(ctx context.Context, conn *net.UnixConn, spec *Spec) (_ Owned, err error) {
	var ours, theirs [3]*os.File
	defer func() {
		closeFiles(theirs[:])
		if err != nil {
			closeFiles(ours[:])
			_ = conn.Close()
		}
	}()
	if theirs[0], ours[0], err = os.Pipe(); err != nil {
		return nil, err
	}
	for i := 1; i < 3; i++ {
		if ours[i], theirs[i], err = os.Pipe(); err != nil {
			return nil, err
		}
	}
	rights := unix.UnixRights(int(theirs[0].Fd()), int(theirs[1].Fd()), int(theirs[2].Fd()))
	if _, _, err := conn.WriteMsgUnix([]byte{0}, rights, nil); err != nil {
		return nil, err
	}
	params, err := json.Marshal(specToWire(spec))
	if err != nil {
		return nil, err
	}
	if err := writeFrame(conn, request{Method: ownedStart, Params: params}, nil); err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) })
	head, _, err := readFrame(conn, maxHead, 0)
	if !stop() {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrLost, err)
	}
	var r reply
	if err := decode(head, &r); err != nil {
		return nil, err
	}
	if r.Error != nil {
		return nil, r.Error.err()
	}
	o := &owned{conn: conn, link: newLink(conn), stdin: ours[0], stdout: ours[1], stderr: ours[2], done: make(chan struct{}), gone: make(chan struct{})}
	go o.receive()
	return o, nil
}

func closeFiles(files []*os.File) {
	for _, f := range files {
		if f != nil {
			_ = f.Close()
		}
	}
}

func (o *owned) receive() {
	defer close(o.gone)
	told := false
	for {
		head, _, err := o.link.receive()
		if err != nil {
			break
		}
		var r reply
		if decode(head, &r) == nil && r.ID == ownedEnded && !told {
			told = true
			o.err = decode(r.Result, &o.code)
			close(o.done)
		}
	}
	if !told {
		o.err = ErrLost
		close(o.done)
	}
	o.link.kill()
}

func (o *owned) Stdin() io.WriteCloser { return o.stdin }
func (o *owned) Stdout() io.ReadCloser { return o.stdout }
func (o *owned) Stderr() io.ReadCloser { return o.stderr }

func (o *owned) Wait(ctx context.Context) (int, error) {
	select {
	case <-o.done:
		return o.code, o.err
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

func (o *owned) Signal(s os.Signal) error {
	number, ok := s.(syscall.Signal)
	if !ok {
		return fmt.Errorf("%v is no signal of this system", s)
	}
	select {
	case <-o.done:
		return ErrExited
	default:
	}
	params, err := json.Marshal(signalParams{Signal: int(number)})
	if err != nil {
		return err
	}
	return o.link.send(context.Background(), request{Method: ownedSignal, Params: params}, nil)
}

// closeTimeout limits how long Close waits for a guard. It is twice the time in which a
// guard kills everything.
const closeTimeout = 10 * time.Second

func (o *owned) Close() error {
	_ = o.stdin.Close()
	_ = o.conn.CloseWrite()
	var err error
	select {
	case <-o.gone:
	case <-time.After(closeTimeout):
		err = errors.New("a process and what it has started can't be ended")
	}
	o.link.close()
	<-o.gone
	_ = o.stdout.Close()
	_ = o.stderr.Close()
	return err
}
