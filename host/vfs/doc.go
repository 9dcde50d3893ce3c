// Package vfs is the read-only file system of one scan root, as resolvers see it: guarded,
// filtered, capped and traced. Nothing else in Waymark reads a root.
//
// A Root is opened once and is a descriptor, not a path. A resolver run begins with
// Root.Begin, which returns a Run. The guest's requests (Open, Stat, Lstat, Readlink) and the
// host's later ones (Content, Resolve, Trace) go through the same Run and see the same bytes.
//
// # Guarantees
//
//   - Guarded: no byte of a file outside the root is read, whatever links lead there and even
//     if they are swapped meanwhile. Every name is opened with O_NOFOLLOW below a directory
//     descriptor (package internal/beneath). Links are followed by reading them, and a target
//     outside the root is refused without looking at it; with RootOptions.Beyond, links of the
//     root's owner lead to what isn't protected elsewhere. Only regular files and directories
//     are opened for reading, and opening never blocks. When the root itself is located, a
//     link inside a directory of RootOptions.Within may lead neither out of that directory
//     nor to secrets.
//   - Filtered: what a View doesn't show doesn't exist (ENOENT), and the file system isn't
//     asked. Secrets (SecretPatterns) and settings files (SettingsPatterns) are matched on
//     the path asked for, on every link on the way and on the target, in every spelling that
//     a file system may fold to theirs. A file with several names is compared with all
//     protected files that the root holds.
//   - Capped: opens, bytes, names looked at, memory and descriptors of a run are bounded
//     (Limits). So is the work of matching names against patterns: when patterns are admitted
//     (Allowance), per run, and by the callback of Run.OnWork. Open files hold no
//     descriptors, so a guest may keep thousands open.
//   - Stable: a file is read once per run. A second look at a name, a file or a listing gives
//     the first answer.
//   - Deterministic: guests see no times, owners or inode numbers, and no sizes of
//     directories; Info.Ino is derived from the path. So a trace holds only what a resolver
//     can depend on.
//   - Traced: Run.Trace lists everything that the run's answers depend on, and Root.Check
//     reports whether a new run would get the same answers.
//   - In units: a part of a run can be traced apart from the rest (BeginUnit, EndUnit). The
//     next run adopts the units that haven't changed, together with their answers, files and
//     costs (Run.Units, Root.CheckUnits, Run.Recall). Its result is that of a run that adopts
//     none.
//   - Precise: for each file that a unit has read, the run records how much of its beginning
//     a guest has seen, and whether it knows the size. If only later bytes change, a check
//     says so (Freshness.Rewritten): a guest would ask and see the same.
//
// # Paths
//
// Paths are relative to the root, separated by slashes, and cleaned lexically before use
// ("a/../b" is "b"), as WASI does. "." is the root. A trailing slash asks for a directory. An
// empty path or a NUL is EINVAL. An absolute path, a path that leaves the root by "..", and
// one that isn't UTF-8 are EPERM. More than 4096 bytes are ENAMETOOLONG. A backslash is an
// ordinary character.
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
// Anything but a regular file gives the same answer whatever its own permissions are. A
// directory's permissions count when it is listed or traversed.
//
// # Concurrency
//
// A Root and a Filter may be used by many goroutines at once. A Run and its Files belong to
// one goroutine. The Run's background hashing goroutine ends with Close. No lock is held
// during file I/O.
//
// # Limits
//
// Units are adopted as they were when CheckUnits looked. A file that changes between then and
// the end of the run can leave a contradictory trace, which is stale at the next check.
// CheckUnitsNear trusts its caller's paths: everything else may be stale.
//
// A hard link has no target to match. Three kinds of protected files aren't compared: those
// outside the root, those in directories that this user can't list, and those beyond 20,000
// entries of node_modules and of git's objects. A copy can't be recognized either. Reads and
// excludes match as spelled: on a file system that folds names, an excluded file is found
// under other spellings. A directory that is moved out of the root during a run may be read
// until the run ends. On network file systems that report wrong times, a change can stay
// hidden until the file is next read.
package vfs
