package vfstest

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// special makes a FIFO or a socket.
func special(t testing.TB, path, kind string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	switch kind {
	case "|":
		return unix.Mkfifo(path, 0o644)
	case "^":
		// A socket's path must be short, and a test's directory isn't: make
		// it elsewhere and move it.
		dir, err := os.MkdirTemp("", "s")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, "s")})
		if err != nil {
			return err
		}
		l.SetUnlinkOnClose(false)
		t.Cleanup(func() { _ = l.Close() })
		return os.Rename(filepath.Join(dir, "s"), path)
	}
	return fmt.Errorf("unknown kind %q", kind)
}
