package testenv

import (
	"os"
	"testing"
)

// SocketDir returns a directory for sockets, which is removed at the end of the test: that
// of a test by itself may have too long a path for them.
func SocketDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "wm")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
