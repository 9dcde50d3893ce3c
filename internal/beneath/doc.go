// Package beneath opens files below a directory without trusting any path: it opens each
// directory on the way by its name in the parent, and never through a symbolic link. If
// somebody renames directories or replaces them by links meanwhile, the result is an error,
// and never another file.
//
// There are two layers. A Walker follows link-free paths below a directory that its caller
// has open. Resolve finds out where an absolute path leads: it follows links by reading them,
// under a policy about links in directories that somebody else may fill. The result is a path
// without links, to be opened by a Walker, so that what is opened is what the policy has
// judged.
//
// The package neither reads files nor changes anything. A caller that creates, writes or
// renames a file opens the file's directory (Walker.Dir, Resolution.OpenDir) and uses the *at
// calls with O_NOFOLLOW on the last name.
//
// # Guarantees
//
//   - Every name is opened with O_NOFOLLOW below a directory descriptor, or two at once with
//     openat2(2)'s RESOLVE_BENEATH and RESOLVE_NO_SYMLINKS. No call of this package lets the
//     kernel follow a link.
//   - Nothing blocks: a FIFO is opened without waiting for its other end.
//   - A link in one of Options.Within is followed only inside that directory. If it leads
//     out, the target isn't looked at, so that no error reveals what exists there.
//   - In a directory in which everybody may create files, such as /tmp, only links of its
//     owner and of this user are followed.
//
// # Concurrency
//
// A Walker and a Resolution belong to one goroutine at a time. They share nothing with
// others, except a Walker that is given in Options.Top.
//
// # Limits
//
// Paths are cleaned, relative and separated by slashes; "." is the directory itself. They
// have at most MaxPath bytes. A directory that is moved out of the root while it is open is
// still used. Resolve looks at up to 4,096 names and MaxLinks links. Mounts below the root
// belong to it.
package beneath
