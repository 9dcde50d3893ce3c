package vfs

import (
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

// inoOf makes a number of a link-free path (FNV-1a), so that a guest can tell
// files apart without learning the real ones, which no trace holds.
func inoOf(path string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(path) {
		h = (h ^ uint64(path[i])) * 1099511628211
	}
	return h | 1 // 0 means "unknown" to some guests
}
