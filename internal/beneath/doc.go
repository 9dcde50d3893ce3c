// Package beneath opens files below a directory without trusting any path: each
// directory on the way is opened by its name in the one above it, and never
// through a symbolic link. Whoever renames directories or puts links in their
// place meanwhile gets an error to be returned, and not another file opened.
//
// There are two layers. A Walker goes down paths without links below a
// directory that its caller has open. Resolve finds out where an absolute path
// leads: it follows links by reading them, under a policy about those that lie
// in directories which somebody else may fill. What it ends at is a path
// without links, to be opened by a Walker, so that what the policy has judged
// is what is opened.
//
// The package only looks: it reads nothing of files and changes nothing. A
// caller that creates, writes or renames a file opens the file's directory
// (Walker.Dir, Resolution.OpenDir) and uses the *at calls with O_NOFOLLOW on
// the last name.
//
// # Guarantees
//
//   - Every name is opened with O_NOFOLLOW below a directory descriptor, or two at once
//     with openat2(2)'s RESOLVE_BENEATH and RESOLVE_NO_SYMLINKS. No call of this
//     package lets the kernel follow a link.
//   - Nothing blocks: a FIFO is opened without waiting for its other end.
//   - A link that lies in one of Options.Within is followed inside of that
//     directory only. When it leads out, the place outside isn't looked at, so
//     that no error gives away what is there.
//   - In a directory in which everybody may create files, such as /tmp, only
//     links of its owner and of this user are followed.
//
// # Concurrency
//
// A Walker and a Resolution belong to one goroutine at a time. They share
// nothing with others, but for the Walker of those that are given one.
//
// # Limits
//
// Paths are cleaned, relative and separated by slashes; "." is the directory
// itself. They have at most MaxPath bytes. A directory that is moved out from
// under the root while it is open is still used. Resolve looks at up to 4,096
// names and MaxLinks links. What is mounted below the root belongs to it.
package beneath
