//go:build !linux

package beneath

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// dirFlags open a directory to go through it. Without O_PATH the directory
// must be listable too.
const dirFlags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

// openBelow is for Linux: elsewhere each name is opened by itself.
func openBelow(int, string, int) (int, syscall.Errno) { return -1, unix.ENOSYS }
