package supervisor

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"

	"waymark/workspace/launch"
)

// A starter forks the confined processes of one chat, as children of the supervisor. It is
// in a Landlock domain that scopes signals, and they inherit the domain: what a chat starts
// can signal what it started before, detached or not, and nothing else. A process can't
// enter an existing domain. A thread of the supervisor can't be in it either, because a
// process in the domain could kill the thread, and with it the supervisor. It can kill its
// starter; then the next start makes a new one, with a new domain.

const (
	// maxStarters limits the starters. The one that was unused for the longest time is
	// dropped.
	maxStarters = 16
	// starterTimeout limits how long a starter may take to fork on a slow machine. A
	// process of the chat may have stopped it.
	starterTimeout = 10 * time.Second
	// starterFiles are passed with each start: three streams, specification and answer.
	starterFiles = 5
)

// errStarter says that a starter has failed. Nothing was started.
var errStarter = errors.New("what starts the processes of a chat doesn't answer")

// owner is a chat under one fence. Its processes may signal each other.
type owner struct {
	chat  uuid.UUID
	fence string
}

// starters are the starters of a supervisor. Nil means that there are none.
type starters struct {
	mu   sync.Mutex
	list map[owner]*starter
}

type starter struct {
	mu    sync.Mutex // held while it forks
	conn  *os.File
	pidfd int
	pid   int
	used  time.Time // guarded by starters.mu
}

func newStarters() *starters { return &starters{list: map[owner]*starter{}} }

// of returns the starter for a start, or nil if it needs none.
func (s *starters) of(spec *Spec) *starter {
	if s == nil || spec.Profile == nil || spec.Chat == uuid.Nil || !launch.HoldsSignals() {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	who := owner{spec.Chat, spec.Fence}
	st := s.list[who]
	if st == nil {
		var err error
		if st, err = newStarter(); err != nil {
			return nil
		}
		if len(s.list) >= maxStarters {
			s.drop(slices.MinFunc(slices.Collect(maps.Values(s.list)), func(a, b *starter) int { return a.used.Compare(b.used) }))
		}
		s.list[who] = st
	}
	st.used = time.Now()
	return st
}

// has reports whether a process is a starter.
func (s *starters) has(pid int) bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, st := range s.list {
		if st.pid == pid {
			return true
		}
	}
	return false
}

// drop ends a starter. The caller holds mu.
func (s *starters) drop(st *starter) {
	maps.DeleteFunc(s.list, func(_ owner, other *starter) bool { return other == st })
	go func() { // when it isn't forking any more
		st.mu.Lock()
		defer st.mu.Unlock()
		if st.conn == nil {
			return
		}
		_ = unix.PidfdSendSignal(st.pidfd, unix.SIGKILL, nil, 0)
		_ = unix.Close(st.pidfd)
		_ = st.conn.Close()
		st.conn = nil
	}()
}

// failed drops a starter that has failed.
func (s *starters) failed(st *starter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(st)
}

// end ends all starters.
func (s *starters) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, st := range s.list {
		s.drop(st)
	}
}

func newStarter() (_ *starter, err error) {
	path, args, err := self(RoleStarter)
	if err != nil {
		return nil, err
	}
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	conn, theirs := os.NewFile(uintptr(fds[0]), "starter"), os.NewFile(uintptr(fds[1]), "starter")
	defer func() { _ = theirs.Close() }()
	limit := unix.NsecToTimeval(starterTimeout.Nanoseconds())
	st := &starter{conn: conn}
	err = errors.Join(unix.SetsockoptTimeval(fds[0], unix.SOL_SOCKET, unix.SO_RCVTIMEO, &limit), unix.SetsockoptTimeval(fds[0], unix.SOL_SOCKET, unix.SO_SNDTIMEO, &limit))
	if err == nil {
		// The reaper doesn't know it, but reaps it anyway.
		st.pid, err = syscall.ForkExec(path, args, &syscall.ProcAttr{ //nolint:gosec // this very program
			Dir: "/", Env: []string{}, Files: []uintptr{0, 1, 2, theirs.Fd()}, Sys: &syscall.SysProcAttr{Setsid: true, PidFD: &st.pidfd},
		})
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return st, nil
}

// fork makes the starter run the shim with five files. If the error is errStarter, nothing
// was started.
func (st *starter) fork(files []*os.File, terminal bool) (pid int, err error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.conn == nil {
		return 0, errStarter
	}
	_ = unix.PidfdSendSignal(st.pidfd, unix.SIGCONT, nil, 0) // the chat's processes may have stopped it
	fds := make([]int, len(files))
	for i, f := range files {
		fds[i] = int(f.Fd())
	}
	ask := []byte{0}
	if terminal {
		ask[0] = 1
	}
	conn := int(st.conn.Fd())
	if err := unix.Sendmsg(conn, ask, unix.UnixRights(fds...), nil, unix.MSG_NOSIGNAL); err != nil {
		return 0, fmt.Errorf("%w: %w", errStarter, err)
	}
	var answer [8]byte
	n, err := unix.Read(conn, answer[:])
	for errors.Is(err, unix.EINTR) {
		n, err = unix.Read(conn, answer[:])
	}
	if n != len(answer) || err != nil {
		return 0, fmt.Errorf("%w: %w", errStarter, err)
	}
	if errno := binary.NativeEndian.Uint32(answer[4:]); errno != 0 {
		return 0, fmt.Errorf("the program that starts others: %w", syscall.Errno(errno))
	}
	return int(binary.NativeEndian.Uint32(answer[:])), nil
}

// Starter is the starter role; see [Roles].
func Starter([]string) int {
	runtime.GOMAXPROCS(1)
	runtime.LockOSThread() // the domain applies to this thread and its children
	path, args, err := self(launch.Role().Name)
	if err == nil {
		err = launch.ScopeSignals()
	}
	if err != nil {
		return 1 // the end of the connection reports the failure
	}
	for ask, rights := make([]byte, 1), make([]byte, unix.CmsgSpace(4*starterFiles)); ; {
		n, oob, _, _, err := unix.Recvmsg(connFD, ask, rights, unix.MSG_CMSG_CLOEXEC)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if n == 0 || err != nil {
			return 0
		}
		answer := binary.NativeEndian.AppendUint32(nil, 0)
		if pid, errno := forkShim(path, args, rights[:oob], ask[0] == 1); errno == 0 {
			answer = binary.NativeEndian.AppendUint32(binary.NativeEndian.AppendUint32(nil, uint32(pid)), 0) //nolint:gosec // a number of a process
		} else {
			answer = binary.NativeEndian.AppendUint32(answer, uint32(errno)) //nolint:gosec // errors of the system are small
		}
		if _, err := unix.Write(connFD, answer); err != nil {
			return 0
		}
	}
}

// forkShim starts the shim as a sibling of this process.
func forkShim(path string, args []string, rights []byte, terminal bool) (int, syscall.Errno) {
	messages, err := unix.ParseSocketControlMessage(rights)
	if err != nil || len(messages) != 1 {
		return 0, syscall.EINVAL
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return 0, syscall.EINVAL
	}
	attr := &syscall.ProcAttr{Dir: "/", Env: []string{}, Sys: &syscall.SysProcAttr{Setsid: true, Setctty: terminal, Cloneflags: unix.CLONE_PARENT}}
	for _, fd := range fds {
		defer func() { _ = unix.Close(fd) }()
		attr.Files = append(attr.Files, uintptr(fd))
	}
	pid, err := syscall.ForkExec(path, args, attr) //nolint:gosec // this very program
	var errno syscall.Errno
	if err != nil && !errors.As(err, &errno) {
		errno = syscall.EIO
	}
	return pid, errno
}
