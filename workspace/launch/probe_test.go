//go:build linux

package launch_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"waymark/workspace/launch"
)

// background is for roles, which have no test.
var background = context.Background()

// op is something that a confined program tries: a name and its arguments.
type op []string

func (o op) String() string { return strings.Join(o, " ") }

// refused are the ways in which the system says no.
var refused = []error{unix.EACCES, unix.EPERM, unix.EXDEV, unix.EROFS}

// try has a confined program try some things, and returns what came of each: ""
// for success, else the error. Reading is successful with "=" and the content.
func try(t testing.TB, p *launch.Profile, ops ...op) []string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	script, err := json.Marshal(ops)
	if err != nil {
		t.Fatal(err)
	}
	// With the race detector a program would wait for a second at its end.
	env := []string{"PATH=" + os.Getenv("PATH"), "GORACE=atexit_sleep_ms=0"}
	cmd := command(t, &launch.Spec{Argv: []string{exe, "waymark:probe"}, Profile: p, Env: env})
	cmd.Cmd.Stdin = bytes.NewReader(script)
	cmd.Cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var results []string
	if err := json.Unmarshal(out, &results); err != nil || len(results) != len(ops) {
		t.Fatalf("%v: %s", err, out)
	}
	return results
}

// expect tries things that must come out as said: "ok", "no" for a refusal, or the
// result itself.
func expect(t testing.TB, p *launch.Profile, cases map[string][]op) {
	t.Helper()
	for want, ops := range cases {
		for i, got := range try(t, p, ops...) {
			switch {
			case want == "ok" && (got == "" || got[0] == '='), want == got:
			case want == "no" && isRefusal(got):
			default:
				t.Errorf("%s: got %q, want %s", ops[i], got, want)
			}
		}
	}
}

func isRefusal(result string) bool {
	for _, err := range refused {
		if result == err.Error() {
			return true
		}
	}
	return false
}

// probe is the confined program.
func probe([]string) int {
	var ops []op
	if err := json.NewDecoder(os.Stdin).Decode(&ops); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	results := make([]string, len(ops))
	for i, o := range ops {
		content, err := perform(o[0], o[1:])
		var errno syscall.Errno
		switch {
		case err == nil:
			results[i] = content
		case errors.As(err, &errno):
			results[i] = errno.Error()
		default:
			results[i] = err.Error()
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(results); err != nil {
		return 1
	}
	return 0
}

func perform(name string, args []string) (result string, err error) {
	arg := func(n int) string { return args[n] }
	number := func(n int) int { i, _ := strconv.Atoi(args[n]); return i }
	switch name {
	case "read":
		data, err := os.ReadFile(arg(0))
		return "=" + string(data), err
	case "readAt": // the last name, from a descriptor of the directory
		dir, err := unix.Open(filepath.Dir(arg(0)), unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			return "", err
		}
		defer unix.Close(dir)
		fd, err := unix.Openat(dir, filepath.Base(arg(0)), unix.O_RDONLY|unix.O_CLOEXEC, 0)
		return "", errors.Join(err, unix.Close(fd))
	case "readPath": // a descriptor that can't read, opened again
		fd, err := unix.Open(arg(0), unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			return "", err
		}
		defer unix.Close(fd)
		data, err := os.ReadFile(fmt.Sprintf("/proc/self/fd/%d", fd))
		return "=" + string(data), err
	case "list":
		_, err = os.ReadDir(arg(0))
	case "write": // what is there stays
		return "", openAndClose(arg(0), unix.O_WRONLY|unix.O_APPEND)
	case "truncate":
		return "", unix.Truncate(arg(0), 0)
	case "overwrite":
		return "", openAndClose(arg(0), unix.O_WRONLY|unix.O_TRUNC)
	case "create":
		if err := openAndClose(arg(0), unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL); err != nil {
			return "", err
		}
		return "", os.Remove(arg(0))
	case "mkdir":
		if err := os.Mkdir(arg(0), 0o755); err != nil {
			return "", err
		}
		return "", os.Remove(arg(0))
	case "make": // and leave
		return "", os.WriteFile(arg(0), []byte("made"), 0o600)
	case "remove":
		return "", os.Remove(arg(0))
	case "rename":
		return "", unix.Rename(arg(0), arg(1))
	case "link":
		return "", unix.Link(arg(0), arg(1))
	case "symlink":
		return "", unix.Symlink(arg(0), arg(1))
	case "mknod":
		return "", unix.Mknod(arg(0), unix.S_IFBLK|0o600, int(unix.Mkdev(7, 0)))
	case "chown":
		return "", os.Chown(arg(0), number(1), number(1))
	case "chmod":
		return "", os.Chmod(arg(0), 0o644)
	case "setxattr":
		return "", unix.Setxattr(arg(0), "user.waymark", []byte("x"), 0)
	case "mount":
		return "", unix.Mount(arg(0), arg(1), "", unix.MS_BIND, "")
	case "kill":
		return "", unix.Kill(number(0), 0)
	case "ptrace":
		return "", unix.PtraceAttach(number(0))
	case "unix":
		return "", dial("unix", arg(0))
	case "tcp":
		return "", dial("tcp", arg(0))
	case "udp":
		return "", dial("udp", arg(0))
	case "listen":
		l, err := net.Listen("tcp", arg(0)) //nolint:noctx // a test's
		if err == nil {
			err = l.Close()
		}
		return "", err
	case "mptcp":
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, unix.IPPROTO_MPTCP)
		return "", errors.Join(err, unix.Close(fd))
	case "pair":
		return "", pair(number(0))
	case "datagram":
		return "", datagram(arg(0))
	case "uring":
		return "", uring()
	case "shim":
		return nested(args)
	default:
		return attack(name, args)
	}
	return "", err
}

func openAndClose(path string, flags int) error {
	fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

func dial(network, address string) error {
	conn, err := net.Dial(network, address) //nolint:noctx // a test's
	if err == nil {
		err = conn.Close()
	}
	return err
}

// pair makes a pair of sockets and sends something through.
func pair(kind int) error {
	fds, err := unix.Socketpair(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fds[0])
	defer unix.Close(fds[1])
	if _, err := unix.Write(fds[0], []byte("x")); err != nil {
		return err
	}
	_, err = unix.Read(fds[1], make([]byte, 1))
	return err
}

// datagram sends to a socket by its path without having called socket.
func datagram(path string) error {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	return unix.Sendto(fds[0], []byte("x"), 0, &unix.SockaddrUnix{Name: path})
}

func uring() error {
	var params [120]byte
	fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params[0])), 0)
	if errno != 0 {
		return errno
	}
	return unix.Close(int(fd))
}

// nested starts a program by the shim under a profile that allows everything.
func nested(args []string) (string, error) {
	program, err := launch.Own("launch")
	if err != nil {
		return "", err
	}
	p := &launch.Profile{Name: "wide", Write: []string{"/"}, Capabilities: launch.CapabilityNames()}
	cmd, err := program.Command(background, &launch.Spec{Argv: args, Env: os.Environ(), Profile: p})
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	cmd.Cmd.Stderr = io.Discard
	cmd.Cmd.Stdout = &out
	if err := cmd.Run(); err != nil {
		return "", unix.EACCES
	}
	return "=" + out.String(), nil
}

// install makes a filter of system calls this thread's.
func install(raw []bpf.RawInstruction) error {
	program := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		program[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	filter := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&filter)))
	if errno != 0 {
		return errno
	}
	return nil
}
