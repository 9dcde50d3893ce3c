//go:build !linux

package watch

import (
	"strings"

	"golang.org/x/sys/unix"
)

// silentFS recognizes the network file systems of darwin by name.
func silentFS(st *unix.Statfs_t) bool {
	switch name := unix.ByteSliceToString(st.Fstypename[:]); name {
	case "nfs", "smbfs", "afpfs", "webdav", "ftp", "virtiofs", "lifs":
		return true
	default:
		return strings.Contains(name, "fuse")
	}
}
