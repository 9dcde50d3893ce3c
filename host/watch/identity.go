package watch

import "golang.org/x/sys/unix"

// identity says which directory a path means.
type identity struct{ dev, ino uint64 }

// identify looks at the last name of a path. What isn't a directory, a link
// to one included, and what can't be looked at isn't here.
func identify(path string) (id identity, here bool) {
	var st unix.Stat_t
	err := unix.Lstat(path, &st)
	for err == unix.EINTR {
		err = unix.Lstat(path, &st)
	}
	if err != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return identity{}, false
	}
	return identity{dev: uint64(st.Dev), ino: st.Ino}, true //nolint:unconvert // dev is an int32 on darwin, and only compared
}
