package httpapi_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"waymark/internal/httpapi"
)

// shortDir is t.TempDir with a path that is short enough for a socket.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "wm")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// left makes a socket that nobody serves, as a killed process leaves it.
func left(t *testing.T, path string) {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	_ = l.Close()
}

func TestListenUnix(t *testing.T) {
	dir := shortDir(t)
	path := filepath.Join(dir, "run", "s")
	l, err := httpapi.ListenUnix(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]os.FileMode{path: 0o600, path + ".lock": 0o600, filepath.Dir(path): 0o700} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	if _, err := httpapi.ListenUnix(path); !errors.Is(err, httpapi.ErrInUse) {
		t.Errorf("a second listener: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if err := l.Close(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a second Close: %v", err)
	}
	if list, err := os.ReadDir(filepath.Dir(path)); err != nil || len(list) != 0 {
		t.Errorf("left behind: %v, %v", list, err)
	}

	// What a killed process leaves: the socket, and a lock that nobody has.
	left(t, path)
	if err := os.WriteFile(path+".lock", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if l, err = httpapi.ListenUnix(path); err != nil {
		t.Fatalf("after a kill: %v", err)
	}
	_ = l.Close()

	// A socket that another program serves without the lock stays.
	foreign, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := httpapi.ListenUnix(path); !errors.Is(err, httpapi.ErrInUse) {
		t.Errorf("another program's socket: %v", err)
	}
	_ = foreign.Close()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := httpapi.ListenUnix(path); !errors.Is(err, httpapi.ErrNotSocket) {
		t.Errorf("a file in its place: %v", err)
	}
}

// TestListenUnixTogether: of those who find the same stale socket one gets it,
// over and over, and whoever has it is reached through it.
func TestListenUnixTogether(t *testing.T) {
	path := filepath.Join(shortDir(t), "s")
	left(t, path)
	var mu sync.Mutex // guards have
	have := 0
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 200 {
				l, err := httpapi.ListenUnix(path)
				if err != nil {
					if !errors.Is(err, httpapi.ErrInUse) {
						t.Error(err)
					}
					continue
				}
				mu.Lock()
				have++
				if have > 1 {
					t.Errorf("%d have the socket", have)
				}
				mu.Unlock()
				conn, err := net.Dial("unix", path)
				if err != nil {
					t.Error(err)
				} else {
					_ = conn.Close()
				}
				mu.Lock()
				have--
				mu.Unlock()
				if err := l.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}
