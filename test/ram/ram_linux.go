// Package ram has a place in memory for tests that make thousands of files: a disk
// takes up to 0.8 ms of a processor for each, a hundred times as long.
//
// # Limits
//
// It is nothing for tests of what confines programs, which hides /dev from them.
package ram

import (
	"os"

	"golang.org/x/sys/unix"
)

// room is how much the place must have left, in bytes. A test takes some 100 MB.
const room = 2 << 30

// Use has everything that this process and those that it starts put into temporary
// files in memory, where there is room and TMPDIR doesn't name another place. For
// TestMain.
func Use() {
	const dir = "/dev/shm"
	var fs unix.Statfs_t
	if unix.Statfs(dir, &fs) != nil || fs.Bavail*uint64(fs.Bsize) < room || fs.Flags&unix.ST_NOEXEC != 0 || unix.Access(dir, unix.W_OK) != nil {
		return
	}
	if _, set := os.LookupEnv("TMPDIR"); !set {
		_ = os.Setenv("TMPDIR", dir)
	}
}
