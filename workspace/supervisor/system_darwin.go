package supervisor

import (
	"net"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// becomeSubreaper does nothing: this system has no subreapers, so detached grandchildren
// escape.
func becomeSubreaper() error { return nil }

// bootID identifies the boot.
func bootID() string {
	tv, err := unix.SysctlTimeval("kern.boottime")
	if err != nil {
		return ""
	}
	return strconv.FormatInt(tv.Sec, 10)
}

// sZomb is SZOMB of sys/proc.h.
const sZomb = 5

// procOf converts a process. It has the group instead of the session, and the start in
// microseconds.
func procOf(k *unix.KinfoProc) proc {
	return proc{
		pid: int(k.Proc.P_pid), parent: int(k.Eproc.Ppid), session: int(k.Eproc.Pgid), zombie: k.Proc.P_stat == sZomb,
		start: uint64(k.Proc.P_starttime.Sec)*1e6 + uint64(k.Proc.P_starttime.Usec), //nolint:gosec // positive
	}
}

// readProc returns a process by its pid.
func readProc(pid int) (proc, error) {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return proc{}, err
	}
	return procOf(k), nil
}

// procs returns all processes.
func procs() []proc {
	list, _ := unix.SysctlKinfoProcSlice("kern.proc.all")
	all := make([]proc, len(list))
	for i := range list {
		all[i] = procOf(&list[i])
	}
	return all
}

// signalProc sends a signal to a process, unless its pid belongs to another one by now.
func signalProc(p proc, s syscall.Signal) error {
	if now, err := readProc(p.pid); err != nil || now.start != p.start {
		return syscall.ESRCH
	}
	return syscall.Kill(p.pid, s)
}

// samePeer returns an error if the other end of a connection belongs to another user.
func samePeer(conn *net.UnixConn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var cred *unix.Xucred
	if ctlErr := raw.Control(func(fd uintptr) {
		cred, err = unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	}); ctlErr != nil {
		return ctlErr
	}
	if err != nil {
		return err
	}
	return sameUser(int(cred.Uid))
}

// setOOMScore does nothing on this system.
func setOOMScore(int, int) error { return nil }

// maxRSS returns the peak memory in bytes.
func maxRSS(u *syscall.Rusage) int64 { return u.Maxrss }

// redirect makes the descriptor to a duplicate of from.
func redirect(from, to int) error { return unix.Dup2(from, to) }

// niceness returns the niceness of this process.
func niceness() int {
	n, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		return 0
	}
	return n
}

// niceThread reports false: threads have no niceness of their own here.
func niceThread(int) bool { return false }

// childless reports whether this process has no children.
func childless() bool { return len(descendants(os.Getpid())) == 0 }
