package server_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waymark/agent/server"
)

func isAddress(err error) bool { return errors.Is(err, server.ErrAddress) }

func socket(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "wm") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return filepath.Join(dir, "run", "a.sock")
}

// TestListen: a socket that is served isn't taken over, one that is left behind
// is, and nobody else can reach it.
func TestListen(t *testing.T) {
	path := socket(t)
	l, err := server.Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	if _, err := server.Listen(path); !errors.Is(err, server.ErrRunning) {
		t.Errorf("a second agent: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if l, err = server.Listen(path); err != nil {
		t.Fatalf("after the first has ended: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}

	// What a killed agent leaves: the socket, and a lock that nobody holds.
	left, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	left.SetUnlinkOnClose(false)
	_ = left.Close()
	if l, err = server.Listen(path); err != nil {
		t.Fatalf("after a kill: %v", err)
	}
	_ = l.Close()

	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := server.Listen(path); err == nil || !strings.Contains(err.Error(), "remove it") {
		t.Errorf("a file in its place: %v", err)
	}
}

func TestListenTCP(t *testing.T) {
	for _, addr := range []string{"", "127.0.0.1", "192.0.2.7:1", "0.0.0.0:0", ":0", "[::]:0", "example.com:80", "127.0.0.1.evil.example:1"} {
		l, err := server.ListenTCP(t.Context(), addr)
		if err == nil {
			_ = l.Close()
			t.Errorf("%q is listened on", addr)
		} else if !isAddress(err) {
			t.Errorf("%q: %v isn't said to be a wrong address", addr, err)
		}
	}
	l, err := server.ListenTCP(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	if _, err := server.ListenTCP(t.Context(), l.Addr().String()); err == nil || isAddress(err) || !strings.Contains(err.Error(), "in use") {
		t.Errorf("a port that is in use: %v", err)
	}
}
