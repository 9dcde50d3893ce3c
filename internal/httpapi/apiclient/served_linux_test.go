package apiclient_test

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"waymark/internal/httpapi/apiclient"
)

// TestServed: a socket that is listened at is served, also while its queue is full; one
// that a killed process left isn't.
func TestServed(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "wm") // a short path, for the socket
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "s")
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Listen(fd, 0); err != nil { // the queue has one place
		t.Fatal(err)
	}
	conn, err := new(net.Dialer).DialContext(t.Context(), "unix", path)
	if err != nil {
		t.Fatal(err)
	}
	for _, queue := range []string{"full", "still full"} {
		if err := apiclient.Served(t.Context(), "unix", path); err != nil {
			t.Errorf("the queue is %s: %v", queue, err)
		}
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
	if err := unix.Close(fd); err != nil {
		t.Fatal(err)
	}
	if apiclient.Served(t.Context(), "unix", path) == nil || apiclient.Served(t.Context(), "unix", dir+"/none") == nil {
		t.Error("what nobody listens at is served")
	}
}
