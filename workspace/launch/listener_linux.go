package launch

import (
	"errors"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Ioctls of a listener, including the sizes of their arguments.
const (
	notifyReceive = 0xc0502100 // SECCOMP_IOCTL_NOTIF_RECV
	notifySend    = 0xc0182101 // SECCOMP_IOCTL_NOTIF_SEND
)

// notification is struct seccomp_notif: a system call that waits for a decision.
type notification struct {
	id         uint64
	pid, flags uint32
	number     int32
	arch       uint32
	_          uint64 // instruction pointer
	args       [6]uint64
}

// reply is struct seccomp_notif_resp.
type reply struct {
	id    uint64
	value int64
	errno int32
	flags uint32
}

// decide answers for the starter what a filter can't see: whether the process that a call
// names is in the caller's session. It returns when the last process under the filter has
// ended. If the starter ends before that, such calls fail.
func decide(listener *os.File) {
	defer func() { _ = listener.Close() }()
	conn, err := listener.SyscallConn()
	if err != nil {
		return
	}
	for {
		var n notification
		var received bool
		err := conn.Read(func(fd uintptr) bool {
			events := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}} //nolint:gosec // a descriptor
			_, err := unix.Poll(events, 0)
			for errors.Is(err, unix.EINTR) {
				_, err = unix.Poll(events, 0)
			}
			received = events[0].Revents&unix.POLLIN != 0
			return events[0].Revents != 0 // otherwise receiving would block
		})
		if err != nil || !received {
			return
		}
		control := func(request uintptr, with unsafe.Pointer) (errno unix.Errno) {
			_ = conn.Control(func(fd uintptr) { _, _, errno = unix.Syscall(unix.SYS_IOCTL, fd, request, uintptr(with)) })
			return errno
		}
		if control(notifyReceive, unsafe.Pointer(&n)) != 0 { //nolint:gosec // that is how the kernel takes it
			continue // the caller was interrupted, or has ended
		}
		r := n.decided()
		control(notifySend, unsafe.Pointer(&r)) //nolint:gosec // as above
	}
}

// decided is the decision on a call.
func (n *notification) decided() reply {
	arch := architectures[runtime.GOARCH]
	if n.arch != arch.audit {
		arch = *arch.compat
	}
	who := n.args[0]
	if call := uint32(n.number); call == arch.setpriority || call == arch.ioprioSet { //nolint:gosec // a number
		who = n.args[1]
	}
	if n.isOwn(who) {
		return reply{id: n.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
	}
	return reply{id: n.id, errno: -int32(unix.EPERM)}
}

// isOwn reports whether a number is of a thread or process in the caller's session: the
// program's threads and all that it started, except what has left the session. A process
// can't join a session. For the number to become another's between this check and the call,
// as many new processes are needed as there are numbers.
func (n *notification) isOwn(who uint64) bool {
	theirs, err := unix.Getsid(int(int32(who))) //nolint:gosec // an int of the kernel's
	if err != nil {
		return false
	}
	own, err := unix.Getsid(int(n.pid))
	return err == nil && own == theirs && own > 0 // 0 is a session that isn't visible from here
}
