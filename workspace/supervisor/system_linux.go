package supervisor

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// becomeSubreaper makes this process the parent of orphans below it.
func becomeSubreaper() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// childless reports whether this process has no children. If it is a subreaper, nothing is left
// below it then.
func childless() bool {
	err := unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	return errors.Is(err, unix.ECHILD)
}

// bootID identifies the boot and the pid namespace.
func bootID() string {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	ns, _ := os.Readlink("/proc/self/ns/pid")
	return strings.TrimSpace(string(id)) + " " + ns
}

// readProc returns a process by its pid. Its start is in ticks since the boot.
func readProc(pid int) (proc, error) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return proc{}, err
	}
	// The name, in parentheses, may contain anything.
	end := bytes.LastIndexByte(stat, ')')
	if end < 0 {
		return proc{}, fmt.Errorf("/proc/%d/stat isn't understood", pid)
	}
	fields := strings.Fields(string(stat[end+1:])) // from field 3 on
	if len(fields) < 20 {
		return proc{}, fmt.Errorf("/proc/%d/stat isn't understood", pid)
	}
	p := proc{pid: pid, zombie: fields[0] == "Z" || fields[0] == "X"}
	p.parent, _ = strconv.Atoi(fields[1])
	p.session, _ = strconv.Atoi(fields[3])
	p.start, err = strconv.ParseUint(fields[19], 10, 64)
	return p, err
}

// procs returns all visible processes.
func procs() []proc {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer func() { _ = dir.Close() }()
	names, _ := dir.Readdirnames(-1)
	var all []proc
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if p, err := readProc(pid); err == nil {
			all = append(all, p)
		}
	}
	return all
}

// signalProc sends a signal to a process, unless its pid belongs to another one by now.
func signalProc(p proc, s syscall.Signal) error {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) { // an old kernel, or a seccomp filter
		if now, err := readProc(p.pid); err != nil || now.start != p.start {
			return syscall.ESRCH
		}
		return syscall.Kill(p.pid, s)
	}
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	if now, err := readProc(p.pid); err != nil || now.start != p.start {
		return syscall.ESRCH
	}
	return unix.PidfdSendSignal(fd, s, nil, 0)
}

// samePeer returns an error if the other end of a connection belongs to another user.
func samePeer(conn *net.UnixConn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var cred *unix.Ucred
	if ctlErr := raw.Control(func(fd uintptr) {
		cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); ctlErr != nil {
		return ctlErr
	}
	if err != nil {
		return err
	}
	return sameUser(int(cred.Uid))
}

// setOOMScore makes the kernel prefer a process when it runs out of memory.
func setOOMScore(pid, score int) error {
	return os.WriteFile("/proc/"+strconv.Itoa(pid)+"/oom_score_adj", []byte(strconv.Itoa(score)), 0o600)
}

// maxRSS returns the peak memory in bytes.
func maxRSS(u *syscall.Rusage) int64 { return u.Maxrss << 10 }

// redirect makes the descriptor to a duplicate of from.
func redirect(from, to int) error { return unix.Dup3(from, to, 0) }

// niceness returns the niceness of this process. The raw system call returns 20 minus it.
func niceness() int {
	raw, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		return 0
	}
	return 20 - raw
}

// niceThread raises the niceness of the current thread. The thread ends with the goroutine,
// because niceness can't be lowered again.
func niceThread(by int) bool {
	runtime.LockOSThread()
	return unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), min(niceness()+by, maxNice)) == nil
}
