package testenv

import (
	"os"
	"path/filepath"
	"testing"
)

// SocketDir returns a directory for an agent or for sockets, without links, which is removed
// at the end of the test: that of a test by itself may have too long a path for them. It isn't
// in /tmp, where an ordinary user's X server writes its keymap: a desktop may write nothing
// beside an agent's own directories.
func SocketDir(t testing.TB) string {
	t.Helper()
	in := os.TempDir()
	if in == "/tmp" {
		in = "/var/tmp"
	}
	dir, err := os.MkdirTemp(in, "wm")
	if err == nil {
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
