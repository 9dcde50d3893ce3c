package files

import "golang.org/x/sys/unix"

// noFiles reports whether a descriptor is on a special file system. This system has no
// /proc.
func noFiles(int) (bool, error) { return false, nil }

// exchange swaps two names in a directory. ENOTSUP means that the file system can't do
// that.
func exchange(dir int, a, b string) error {
	return unix.RenameatxNp(dir, a, dir, b, unix.RENAME_SWAP)
}
