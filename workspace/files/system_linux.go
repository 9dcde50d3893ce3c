package files

import (
	"slices"

	"golang.org/x/sys/unix"
)

// kernels are file systems of the kernel. Reading files in /proc reveals data of other
// processes, and writing files in /sys is a command.
var kernels = []int64{
	unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC, unix.DEBUGFS_MAGIC, unix.TRACEFS_MAGIC, unix.SECURITYFS_MAGIC, unix.SELINUX_MAGIC,
	unix.CGROUP_SUPER_MAGIC, unix.CGROUP2_SUPER_MAGIC, unix.BPF_FS_MAGIC, unix.PSTOREFS_MAGIC, unix.EFIVARFS_MAGIC, unix.BINFMTFS_MAGIC,
	unix.DEVPTS_SUPER_MAGIC, unix.NSFS_MAGIC, 0x62656570, // the last one is configfs
}

// noFiles reports whether a descriptor is on a special file system.
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

// exchange swaps two names in a directory. EINVAL, ENOSYS and similar errors mean that the
// file system can't do that.
func exchange(dir int, a, b string) error {
	return unix.Renameat2(dir, a, dir, b, unix.RENAME_EXCHANGE)
}
