package access

import (
	"os"

	"golang.org/x/sys/unix"
)

// allocate keeps room on the disk for a file of that length, which stays as long as it is.
func allocate(f *os.File, length int64) error {
	return unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, 0, length)
}
