package vfstest

import (
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// asNobody calls f without root's power over files. Only the calling thread
// gives it up, so f must do its file I/O in this goroutine.
func asNobody(t *testing.T, f func()) {
	if os.Geteuid() != 0 {
		f()
		return
	}
	const nobody = 65534
	runtime.LockOSThread()
	if _, err := unix.SetfsuidRetUid(nobody); err != nil {
		runtime.UnlockOSThread()
		t.Skipf("needs setfsuid to give up root's power over files: %v", err)
	}
	defer func() {
		if _, err := unix.SetfsuidRetUid(0); err != nil {
			t.Errorf("setfsuid: %v", err)
			return // the thread ends with the goroutine
		}
		runtime.UnlockOSThread()
	}()
	f()
}
