//go:build !linux

package beneath

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// dirFlags open a directory for traversal. Without O_PATH the directory must be listable,
// too.
const dirFlags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

// openBelow is for Linux. Other systems open each name separately.
func openBelow(int, string, int) (int, syscall.Errno) { return -1, unix.ENOSYS }
