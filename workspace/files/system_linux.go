package files

import (
	"slices"

	"golang.org/x/sys/unix"
)

// kernels are file systems whose files are the kernel's: reading one of /proc
// shows what other processes keep to themselves, and writing one of /sys is a
// command.
var kernels = []int64{
	unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC, unix.DEBUGFS_MAGIC, unix.TRACEFS_MAGIC, unix.SECURITYFS_MAGIC, unix.SELINUX_MAGIC,
	unix.CGROUP_SUPER_MAGIC, unix.CGROUP2_SUPER_MAGIC, unix.BPF_FS_MAGIC, unix.PSTOREFS_MAGIC, unix.EFIVARFS_MAGIC, unix.BINFMTFS_MAGIC,
	unix.DEVPTS_SUPER_MAGIC, unix.NSFS_MAGIC, 0x62656570, // the last one is configfs
}

// noFiles reports whether a descriptor is on one of them.
func noFiles(fd int) (bool, error) {
	for {
		var st unix.Statfs_t
		err := unix.Fstatfs(fd, &st)
		if err == unix.EINTR {
			continue
		}
		return err == nil && slices.Contains(kernels, int64(st.Type)), err //nolint:unconvert // the type differs between platforms
	}
}

// exchange swaps two names of one directory. EINVAL, ENOSYS and their like say
// that the file system can't.
func exchange(dir int, a, b string) error {
	return unix.Renameat2(dir, a, dir, b, unix.RENAME_EXCHANGE)
}
