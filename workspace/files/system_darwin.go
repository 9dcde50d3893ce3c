package files

import "golang.org/x/sys/unix"

// noFiles reports whether a descriptor is on a file system that holds no files.
// There is no /proc.
func noFiles(int) (bool, error) { return false, nil }

// exchange swaps two names of one directory. ENOTSUP says that the file system
// can't.
func exchange(dir int, a, b string) error {
	return unix.RenameatxNp(dir, a, dir, b, unix.RENAME_SWAP)
}
