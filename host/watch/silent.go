package watch

import "golang.org/x/sys/unix"

// isSilent reports whether the file system that a directory lies on makes no
// events for what others do to it. One look per device is enough.
func (k *watches) isSilent(path string, id identity) bool {
	if silent, ok := k.silent[id.dev]; ok {
		return silent
	}
	var st unix.Statfs_t
	silent := unix.Statfs(path, &st) == nil && silentFS(&st)
	k.silent[id.dev] = silent
	return silent
}
