package beneath

import (
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// dirFlags open a directory for traversal: O_PATH needs only the permission to search it, not
// to list it, as a path lookup does.
const dirFlags = unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

// nameByName is set once the system has no openat2(2): it needs Linux 5.6, and some sandboxes
// block it.
var nameByName atomic.Bool

// openBelow opens several names at once, with the result of openAt for one after the other:
// the kernel follows no link, and no name leads up. Any errno only means that it has to be
// done name by name.
func openBelow(dir int, names string, flags int) (int, syscall.Errno) {
	if nameByName.Load() {
		return -1, unix.ENOSYS
	}
	how := unix.OpenHow{Flags: uint64(flags), Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS} //nolint:gosec // not negative
	fd, err := unix.Openat2(dir, names, &how)
	if err == nil {
		return fd, 0
	}
	errno := ErrnoOf(err)
	if errno == unix.ENOSYS {
		nameByName.Store(true)
	}
	return -1, errno
}
