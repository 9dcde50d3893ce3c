package files_test

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestForbiddenByAnotherName: a file of the agent's own by another way than its path.
func TestForbiddenByAnotherName(t *testing.T) {
	s := serve(t, nil)
	put(t, s.out+"/agent/control.token", "TOKEN")
	mounted := filepath.Join(s.root, "mounted")
	if err := os.Mkdir(mounted, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount(s.out+"/agent", mounted, "", unix.MS_BIND, ""); err != nil {
		t.Skipf("SKIPPED: nothing can be mounted here: %v", err)
	}
	defer func() { _ = unix.Unmount(mounted, unix.MNT_DETACH) }()
	if code, body := s.read(t, mounted+"/control.token"); code != 403 {
		t.Errorf("reading: %d %s", code, body)
	}
	if code, body := s.write(t, mounted+"/new", "x"); code != 403 {
		t.Errorf("writing: %d %s", code, body)
	}
}
