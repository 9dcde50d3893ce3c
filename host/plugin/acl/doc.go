// Package acl reads who may write a file beside its owner, where the file
// system keeps that in an access control list.
//
// With a list the mode's bits don't say it: the group's are the list's mask
// then, so they hide a user whom an entry lets write, and claim a group that no
// entry does. POSIX lists (Linux; ext4, XFS, tmpfs and others) and those of NFS
// version 4 are understood; what isn't understood is an error, and the caller
// should take it for the worst.
//
// A directory's default list is not looked at: it gives rights to files that
// are made later, which have lists of their own then.
//
// # Concurrency
//
// The package has no state.
//
// # Limits
//
// Lists of other systems than Linux, and those that a server keeps to itself
// (SMB), aren't seen.
package acl
