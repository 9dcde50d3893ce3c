package clients_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"waymark/host/plugin"
	"waymark/test/built"
	"waymark/test/mcp/servers"
)

// inside is set in a process of this program that runs a client in the namespace.
const inside = "WAYMARK_TEST_CLIENT_INSIDE"

func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" {
		servers.Main()
		os.Exit(0)
	}
	if os.Getenv(inside) != "" && os.Args[1] == "scripted" {
		if err := runScripted(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if os.Getenv(inside) != "" {
		if err := runInside(os.Args[1], os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	flag.Parse()
	os.Exit(runTests(m))
}

// loaded has the built-in module for all views, and codeDir and keyDir its native code.
var loaded = plugin.Shared{Keep: true}

var codeDir, keyDir string

// module returns the built-in module, built anew if nobody has made it.
var module = sync.OnceValues(func() ([]byte, error) {
	file, err := built.Guest(context.Background(), "waymark/plugins/builtin")
	if err != nil {
		return nil, err
	}
	return os.ReadFile(file)
})

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "wmcode")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	codeDir, keyDir = filepath.Join(dir, "code"), filepath.Join(dir, "key")
	if shared := built.CodeCache(); shared != "" {
		codeDir, keyDir = shared, shared
	}
	return m.Run()
}

// runInside brings loopback up and runs a command.
func runInside(mode string, args []string) error {
	if err := loopback(); err != nil {
		return err
	}
	if err := os.Unsetenv(inside); err != nil {
		return err
	}
	if mode == "ask" {
		return runAsked(args)
	}
	cmd := exec.CommandContext(context.Background(), args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}

// loopback brings up the one interface of a new network namespace.
func loopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("socket: %w", err)
	}
	defer func() { _ = unix.Close(fd) }()
	req, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	req.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, req); err != nil {
		return fmt.Errorf("bring up loopback: %w", err)
	}
	return nil
}

// namespace makes a command run in a network namespace of its own.
func namespace(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL, Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	if os.Getuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
}

// needNamespace skips a test where the kernel allows none, which no package that
// could be installed changes.
func needNamespace(t *testing.T) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "plain", "/bin/true")
	cmd.Env = append(os.Environ(), inside+"=1")
	namespace(cmd)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: no network namespace can be made here: %v: %s", err, strings.TrimSpace(string(out)))
	}
}
