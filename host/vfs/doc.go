// Package vfs is the read-only file system of one scan root, as resolvers see
// it: guarded, filtered, capped and traced. Nothing else in Waymark reads a
// root.
//
// A Root is opened once and is a descriptor, not a path. A resolver run begins
// with Root.Begin, which gives a Run: what the guest asks (Open, Stat, Lstat,
// Readlink) and what the host asks afterwards (Content, Resolve, Trace) go
// through the same Run and see the same bytes.
//
// # Guarantees
//
//   - Guarded: not a byte of a file outside the root is read, whatever links
//     lead there and whoever swaps them meanwhile. Every name is opened with
//     O_NOFOLLOW below a directory descriptor (package internal/beneath); links
//     are followed by reading them, and a target outside the root is refused
//     without looking at it.
//     Only regular files and directories are opened for reading; nothing
//     blocks. Where the root itself is, no link decides that lies in a
//     directory of RootOptions.Within and leads out of it, or over what is
//     secret.
//   - Filtered: what a View doesn't show doesn't exist (ENOENT), and the file
//     system isn't asked. Secrets (SecretPatterns) and settings files
//     (SettingsPatterns) are matched on the path asked for, on every link on the way
//     and on the path it leads to, in every spelling that a file system may
//     fold to theirs; a file with several names is compared with all of them
//     that the root holds.
//   - Capped: opens, bytes, names looked at, memory and descriptors of a run
//     are bounded (Limits), and so is the work of matching names against
//     patterns: by what is admitted (Allowance), for each run, and by the
//     callback of Run.OnWork. A guest that keeps thousands of files open
//     keeps no descriptor open.
//   - Stable: a file is read once per run. A second look at a name, a file or
//     a listing gives the first answer.
//   - Deterministic: guests see no times, owners or inode numbers, and of
//     directories no size; Info.Ino is made from the path. So a trace needs to
//     hold only what a resolver can really depend on.
//   - Traced: Run.Trace lists everything the run's answers depend on, and
//     Root.Check reports whether a new run would get the same answers.
//   - In units: a part of a run can be traced apart from the rest (BeginUnit,
//     EndUnit), so that the next run takes over what hasn't changed with the
//     answers, the files and the costs that computing it would have brought
//     (Run.Units, Root.CheckUnits, Run.Recall). A run that does comes out like
//     one that doesn't.
//   - Precise: of a file that a unit has read it is known how much of its
//     beginning a guest has learned of, and whether of its size. Where only what
//     comes after that is another, a check says so (Freshness.Rewritten): a guest
//     would be asked the same and see the same.
//
// # Paths
//
// Paths are relative to the root, separated by slashes, and cleaned lexically
// before use ("a/../b" is "b"), as WASI does. "." is the root. A
// trailing slash asks for a directory. An empty path or a NUL is EINVAL; an
// absolute path, a path that leaves the root by "..", and one that isn't UTF-8
// are EPERM; more than 4096 bytes are ENAMETOOLONG. A backslash is a character
// like others.
//
// # Errnos
//
//	missing, or not visible              ENOENT
//	link that leads out of the root      EACCES (ErrEscape)
//	no permission                        EACCES
//	several names, too many to compare   EACCES (ErrManyNames)
//	a directory read as a file           EISDIR
//	readlink of what isn't a link        EINVAL
//	a file where a directory is needed   ENOTDIR
//	too many links, or a loop            ELOOP
//	FIFO, socket, device                 EIO (ErrNotRegular)
//	changed while it was read            EIO (ErrChanged)
//	over a limit                         EIO (ErrLimit); the run must end
//	the run or the file is closed        EBADF
//
// What isn't a regular file gives the same answer whatever its own permissions
// are: they count for a directory that is listed or gone through.
//
// # Concurrency
//
// A Root and a Filter may be used by many goroutines at once. A Run and its
// Files belong to one goroutine; the goroutine that hashes in the background
// is the Run's own and ends with Close. No lock is held during file I/O.
//
// # Limits
//
// Units are taken over as they were when CheckUnits looked. A file that changes
// between that and the end of the run can leave a trace that contradicts itself,
// which is then stale at the next check. CheckUnitsNear believes whoever names the
// paths: what it wasn't told to look at may be stale.
//
// Hard links have no target that could be matched. Protected files outside of
// the root, in directories that this user can't list, and beyond 20,000 entries
// of node_modules and of git's objects aren't compared, and a copy is nobody's
// link. Reads and exclude are matched as they are spelled: on a file system that
// folds names, what is excluded is found in other spellings. A directory that is moved
// out of the root during a run may be read until the run ends. Network file
// systems that lie about times can hide a change until the file is next
// read.
package vfs
