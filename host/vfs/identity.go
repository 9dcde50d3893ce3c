package vfs

import (
	"io/fs"
	"time"

	"golang.org/x/sys/unix"
)

// Identity is what the file system says of a file: when all of it is as it
// was, and the file wasn't young, the content is as it was.
type Identity struct {
	Dev, Ino     uint64
	Size         int64
	Mtime, Ctime int64 // Unix time in ns
}

func identityOf(st *unix.Stat_t) Identity {
	return Identity{
		//nolint:unconvert // the types differ between platforms
		Dev: uint64(st.Dev), Ino: uint64(st.Ino), Size: st.Size,
		Mtime: st.Mtim.Nano(), Ctime: st.Ctim.Nano(),
	}
}

func (id Identity) sameFile(other Identity) bool {
	return id.Dev == other.Dev && id.Ino == other.Ino
}

// youngAge is how old a file's times must be to be trusted: on coarse clocks
// (2 s on FAT, 1 s on older NFS) a second edit leaves them as they were.
const youngAge = 2 * time.Second

// young reports whether an edit after now could leave the identity as it is.
func (id Identity) young(now time.Time) bool {
	return now.UnixNano()-max(id.Mtime, id.Ctime) < int64(youngAge)
}

// typeOf returns the type bits of a mode: 0 for a regular file.
func typeOf(st *unix.Stat_t) fs.FileMode {
	switch uint32(st.Mode) & unix.S_IFMT { //nolint:unconvert // it has 16 bits on darwin
	case unix.S_IFREG:
		return 0
	case unix.S_IFDIR:
		return fs.ModeDir
	case unix.S_IFLNK:
		return fs.ModeSymlink
	case unix.S_IFIFO:
		return fs.ModeNamedPipe
	case unix.S_IFSOCK:
		return fs.ModeSocket
	case unix.S_IFCHR:
		return fs.ModeDevice | fs.ModeCharDevice
	case unix.S_IFBLK:
		return fs.ModeDevice
	}
	return fs.ModeIrregular
}

// inoOf makes a number of a link-free path (FNV-1a), so that a guest can tell
// files apart without learning the real ones, which no trace holds.
func inoOf(path string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(path) {
		h = (h ^ uint64(path[i])) * 1099511628211
	}
	return h | 1 // 0 means "unknown" to some guests
}
