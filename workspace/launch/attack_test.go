//go:build linux

package launch_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What confined programs try with others' processes and with sockets. Each is a name
// of perform.

// raw makes a system call.
func raw(number uintptr, args ...uintptr) error {
	var a [6]uintptr
	copy(a[:], args)
	if _, _, errno := unix.Syscall6(number, a[0], a[1], a[2], a[3], a[4], a[5]); errno != 0 {
		return errno
	}
	return nil
}

func pointer[T any](p *T) uintptr { return uintptr(unsafe.Pointer(p)) }

// signals are ways to send SIGUSR1 to a process.
var signals = map[string]func(pid int) error{
	"kill":     func(pid int) error { return unix.Kill(pid, unix.SIGUSR1) },
	"kill-pg":  func(pid int) error { return unix.Kill(-pid, unix.SIGUSR1) },
	"tkill":    func(pid int) error { return raw(unix.SYS_TKILL, uintptr(pid), uintptr(unix.SIGUSR1)) },
	"tgkill":   func(pid int) error { return unix.Tgkill(pid, pid, unix.SIGUSR1) },
	"sigqueue": func(pid int) error { return queue(unix.SYS_RT_SIGQUEUEINFO, pid) },
	"tgqueue":  func(pid int) error { return queue(unix.SYS_RT_TGSIGQUEUEINFO, pid, pid) },
	"pidfd": func(pid int) error {
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return unix.PidfdSendSignal(fd, unix.SIGUSR1, nil, 0)
	},
}

func queue(number uintptr, pids ...int) error {
	info := [128]byte{0: byte(unix.SIGUSR1), 8: 0xff, 9: 0xff, 10: 0xff, 11: 0xff} // SI_QUEUE
	args := []uintptr{}
	for _, pid := range pids {
		args = append(args, uintptr(pid))
	}
	return raw(number, append(args, uintptr(unix.SIGUSR1), pointer(&info[0]))...)
}

// owners have a socket's SIGIO go to a process, as SIGUSR1. That they may isn't what
// counts, but that the signal doesn't come.
var owners = map[string]func(fd, pid int) error{
	"setown":     func(fd, pid int) error { return fcntl(fd, unix.F_SETOWN, uintptr(pid)) },
	"setown-pg":  func(fd, pid int) error { return fcntl(fd, unix.F_SETOWN, -uintptr(pid)) },
	"setown-ex":  func(fd, pid int) error { return ownerEx(fd, 1, pid) },
	"setown-tid": func(fd, pid int) error { return ownerEx(fd, 0, pid) },
	"fiosetown":  func(fd, pid int) error { n := int32(pid); return raw(unix.SYS_IOCTL, uintptr(fd), 0x8901, pointer(&n)) },
	"siocspgrp":  func(fd, pid int) error { n := int32(pid); return raw(unix.SYS_IOCTL, uintptr(fd), 0x8902, pointer(&n)) },
}

func fcntl(fd int, command, arg uintptr) error { return raw(unix.SYS_FCNTL, uintptr(fd), command, arg) }

func ownerEx(fd, kind, pid int) error {
	owner := [2]int32{int32(kind), int32(pid)}
	return fcntl(fd, unix.F_SETOWN_EX, pointer(&owner))
}

// owned sets the owner of a socket, and makes it readable.
func owned(set func(fd, pid int) error, pid int) error {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fds[0])
	defer unix.Close(fds[1])
	if err := set(fds[0], pid); err != nil {
		return err
	}
	if err := fcntl(fds[0], unix.F_SETSIG, uintptr(unix.SIGUSR1)); err != nil {
		return err
	}
	if err := fcntl(fds[0], unix.F_SETFL, unix.O_ASYNC); err != nil {
		return err
	}
	_, err = unix.Write(fds[1], []byte("x"))
	return err
}

const (
	schedBatch   = 3
	ioprioIdle   = 3 << 13
	numberOfCore = unix.RLIMIT_CORE
)

// settings change what the kernel lets a process have.
var settings = map[string]func(pid int) error{
	"prlimit":   func(pid int) error { return unix.Prlimit(pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 7, Max: 7}, nil) },
	"nice":      func(pid int) error { return unix.Setpriority(unix.PRIO_PROCESS, pid, 19) },
	"nice-pg":   func(pid int) error { return unix.Setpriority(unix.PRIO_PGRP, pid, 19) },
	"ioprio":    func(pid int) error { return raw(unix.SYS_IOPRIO_SET, 1, uintptr(pid), ioprioIdle) },
	"ioprio-pg": func(pid int) error { return raw(unix.SYS_IOPRIO_SET, 2, uintptr(pid), ioprioIdle) },
	"scheduler": func(pid int) error {
		p := int32(0)
		return raw(unix.SYS_SCHED_SETSCHEDULER, uintptr(pid), schedBatch, pointer(&p))
	},
	"setparam": func(pid int) error { p := int32(0); return raw(unix.SYS_SCHED_SETPARAM, uintptr(pid), pointer(&p)) },
	"setattr": func(pid int) error {
		return unix.SchedSetAttr(pid, &unix.SchedAttr{Size: 48, Policy: schedBatch, Nice: 19}, 0)
	},
	"setaffinity":   func(pid int) error { var set unix.CPUSet; set.Set(0); return unix.SchedSetaffinity(pid, &set) },
	"oom_score_adj": func(pid int) error { return writeProc(pid, "oom_score_adj", "1000") },
	"autogroup":     func(pid int) error { return writeProc(pid, "autogroup", "19") },
}

func writeProc(pid int, file, text string) error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/%s", pid, file), []byte(text), 0)
}

// insides reach what another process has: all of them ask whether it may be traced.
var insides = map[string]func(pid int) error{
	"seize": func(pid int) error { return raw(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(pid)) },
	"getfd": func(pid int) error {
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			return err
		}
		_, err = unix.PidfdGetfd(fd, 0, 0)
		return err
	},
	"kcmp": func(pid int) error { return raw(unix.SYS_KCMP, uintptr(os.Getpid()), uintptr(pid), 2) },
	"vm-read": func(pid int) error {
		var b [1]byte
		_, err := unix.ProcessVMReadv(pid, []unix.Iovec{{Base: &b[0], Len: 1}}, []unix.RemoteIovec{{Base: 0x1000, Len: 1}}, 0)
		return err
	},
	"madvise": func(pid int) error {
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			return err
		}
		vec := unix.Iovec{Len: 4096}
		return raw(unix.SYS_PROCESS_MADVISE, uintptr(fd), pointer(&vec), 1, unix.MADV_COLD)
	},
	"move-pages": func(pid int) error { return raw(unix.SYS_MOVE_PAGES, uintptr(pid), 0, 0, 0, 0, 0) },
	"migrate-pages": func(pid int) error {
		n := uint64(1)
		return raw(unix.SYS_MIGRATE_PAGES, uintptr(pid), 64, pointer(&n), pointer(&n))
	},
	"robust-list": func(pid int) error {
		var p, n uintptr
		return raw(unix.SYS_GET_ROBUST_LIST, uintptr(pid), pointer(&p), pointer(&n))
	},
	"timerslack": func(pid int) error { return writeProc(pid, "timerslack_ns", "1000000000") },
}

// attack is perform for what is done to a process, or with sockets.
func attack(name string, args []string) (string, error) {
	kind, way, _ := strings.Cut(name, ":")
	pid, _ := strconv.Atoi(args[0])
	switch kind {
	case "signal":
		return "", signals[way](pid)
	case "owner":
		return "", owned(owners[way], pid)
	case "set":
		return "", settings[way](pid)
	case "inside":
		return "", insides[way](pid)
	case "everybody": // of the user; what is set is what most have
		if way == "nice" {
			return "", unix.Setpriority(unix.PRIO_USER, 0, 0)
		}
		return "", raw(unix.SYS_IOPRIO_SET, 3, 0, 2<<13|4)
	case "own":
		return "", own(way)
	case "socket":
		var n [3]int
		for i := range args {
			n[i], _ = strconv.Atoi(args[i])
		}
		fd, err := unix.Socket(n[0], n[1]|unix.SOCK_CLOEXEC, n[2])
		if err == nil {
			err = unix.Close(fd)
		}
		return "", err
	case "unix-listen":
		l, err := net.Listen("unix", args[0]) //nolint:noctx // a test's
		if err == nil {
			err = l.Close()
		}
		return "", err
	case "tcp":
		return "", connectBy(way, args[0])
	}
	return "", fmt.Errorf("there is no op %s", name)
}

// own is what a program may do to itself and its children.
func own(way string) error {
	switch way {
	case "limits":
		if err := unix.Prlimit(0, numberOfCore, &unix.Rlimit{}, nil); err != nil {
			return err
		}
		return unix.Setrlimit(numberOfCore, &unix.Rlimit{})
	case "ask":
		return unix.Prlimit(os.Getppid(), numberOfCore, nil, &unix.Rlimit{})
	case "thread", "child":
		var pid int
		if way == "thread" {
			tids := make(chan int)
			end := make(chan bool)
			defer close(end)
			go func() {
				runtime.LockOSThread()
				tids <- unix.Gettid()
				<-end
			}()
			pid = <-tids
		} else {
			cmd := exec.Command("sleep", "1000") //nolint:noctx // a test's
			if err := cmd.Start(); err != nil {
				return err
			}
			pid = cmd.Process.Pid
			defer func() { _, _ = cmd.Process.Kill(), cmd.Wait() }()
		}
		for _, name := range []string{"nice", "ioprio", "scheduler", "setparam", "setaffinity"} {
			if err := settings[name](pid); err != nil {
				return err
			}
		}
		if way == "child" {
			return unix.Kill(pid, unix.SIGTERM)
		}
		return unix.Tgkill(os.Getpid(), pid, unix.SIGURG)
	}
	for _, name := range []string{"nice", "nice-pg", "ioprio", "ioprio-pg", "scheduler", "setparam", "setaffinity"} {
		if err := settings[name](0); err != nil {
			return err
		}
	}
	return nil
}

// connectBy connects to an address, or listens, by a way that isn't connect and bind
// alone.
func connectBy(way, address string) error {
	to, err := net.ResolveTCPAddr("tcp4", address)
	if err != nil {
		return err
	}
	at := &unix.SockaddrInet4{Port: to.Port, Addr: [4]byte(to.IP.To4())}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	sockaddr := unix.RawSockaddrInet4{Family: unix.AF_INET, Port: uint16(to.Port)<<8 | uint16(to.Port)>>8, Addr: at.Addr}
	data := []byte("x")
	vec := unix.Iovec{Base: &data[0], Len: 1}
	header := unix.Msghdr{Name: (*byte)(unsafe.Pointer(&sockaddr)), Namelen: unix.SizeofSockaddrInet4, Iov: &vec, Iovlen: 1}
	unspecified := unix.RawSockaddr{Family: unix.AF_UNSPEC}
	switch way {
	case "sendto":
		return unix.Sendto(fd, data, unix.MSG_FASTOPEN, at)
	case "sendmsg":
		_, err = unix.SendmsgN(fd, data, nil, at, unix.MSG_FASTOPEN)
		return err
	case "sendmmsg":
		list := struct {
			header unix.Msghdr
			n      uint32
		}{header: header}
		return raw(unix.SYS_SENDMMSG, uintptr(fd), pointer(&list), 1, unix.MSG_FASTOPEN)
	case "deferred":
		if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_FASTOPEN_CONNECT, 1); err != nil {
			return err
		}
		return unix.Connect(fd, at)
	case "ulp":
		return unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_ULP, "smc")
	case "listen":
		return unix.Listen(fd, 1)
	case "dissolved": // the port of a connection that was allowed stays bound
		if err := unix.Connect(fd, at); err != nil {
			return err
		}
		if err := raw(unix.SYS_CONNECT, uintptr(fd), pointer(&unspecified), unsafe.Sizeof(unspecified)); err != nil {
			return err
		}
		return unix.Listen(fd, 1)
	case "bind":
		return unix.Bind(fd, &unix.SockaddrInet4{Addr: at.Addr})
	case "splice": // moves what there is, and connects nothing
		var pipe [2]int
		if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
			return err
		}
		defer unix.Close(pipe[0])
		defer unix.Close(pipe[1])
		if _, err := unix.Write(pipe[1], data); err != nil {
			return err
		}
		_, err := unix.Splice(pipe[0], nil, fd, nil, 1, unix.SPLICE_F_NONBLOCK)
		return err
	case "mapped":
		six, err := unix.Socket(unix.AF_INET6, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(six)
		return unix.Connect(six, &unix.SockaddrInet6{Port: to.Port, Addr: [16]byte(to.IP.To16())})
	}
	return fmt.Errorf("there is no way %s", way)
}
