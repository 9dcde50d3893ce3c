package watch

import "golang.org/x/sys/unix"

// silentTypes are the file systems whose content changes without events: by another machine,
// by the host of a virtual machine, by a process behind FUSE or by the kernel itself.
// virtiofs has the type of FUSE. The list is that of remote file systems in coreutils' tail,
// except for overlayfs: containers use it for everything, and changes through it do cause
// events for the directory. Changes below it are undefined anyway. Values that x/sys lacks
// are from linux/magic.h and coreutils' stat.c.
var silentTypes = map[uint32]string{
	unix.NFS_SUPER_MAGIC:     "nfs",
	unix.SMB_SUPER_MAGIC:     "smb",
	unix.SMB2_SUPER_MAGIC:    "smb2",
	unix.CIFS_SUPER_MAGIC:    "cifs",
	unix.FUSE_SUPER_MAGIC:    "fuse",
	unix.V9FS_MAGIC:          "9p",
	unix.CEPH_SUPER_MAGIC:    "ceph",
	unix.AFS_SUPER_MAGIC:     "afs",
	unix.AFS_FS_MAGIC:        "k-afs",
	unix.CODA_SUPER_MAGIC:    "coda",
	unix.NCP_SUPER_MAGIC:     "novell",
	unix.OCFS2_SUPER_MAGIC:   "ocfs2",
	unix.HOSTFS_SUPER_MAGIC:  "hostfs",
	unix.PROC_SUPER_MAGIC:    "proc",
	unix.SYSFS_MAGIC:         "sysfs",
	unix.DEBUGFS_MAGIC:       "debugfs",
	unix.TRACEFS_MAGIC:       "tracefs",
	unix.CGROUP_SUPER_MAGIC:  "cgroup",
	unix.CGROUP2_SUPER_MAGIC: "cgroup2",
	0x01161970:               "gfs2",
	0x013111a8:               "ibrix",
	0x0bd00bd0:               "lustre", //nolint:misspell // its name
	0x19830326:               "beegfs",
	0x47504653:               "gpfs",
	0x61636673:               "acfs",
	0x61756673:               "aufs",
	0x65735543:               "fusectl",
	0x786f4256:               "vboxsf",
	0x7c7c6673:               "prl_fs",
	0xa501fcf5:               "vxfs",
	0xaad7aaea:               "panfs",
	0xbacbacbc:               "vmhgfs",
	0xbeefdead:               "snfs",
}

func silentFS(st *unix.Statfs_t) bool {
	_, ok := silentTypes[uint32(st.Type)] //nolint:gosec // 32 bits of it are used, with or without sign
	return ok
}
