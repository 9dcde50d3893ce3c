// Package files serves the files of a machine to chats over HTTP: reading as
// bytes or as numbered lines, writing, listing directories, and edits that
// replace texts. Paths, fields, codes and limits are those of Coder's agent; what
// matches in an edit is the business of package edit.
//
// # What may be reached
//
// Paths are absolute, and may lie anywhere, as chats use them; Options.Within
// narrows that to the workspace. Never reached are the agent's own directories
// (Options.Own), the secret list of package vfs but for what a token
// grants, and file systems that aren't files, such as /proc. A token with a fence
// writes the one file that it names.
//
// # Guarantees
//
//   - Every path is opened by descriptors, name by name and never through a link
//     (package internal/beneath), for reading and for writing. Links are followed
//     by reading them; one that lies in the workspace doesn't lead out of it, and
//     the place outside isn't looked at. Whoever swaps directories and links
//     meanwhile has a call fail, and no other file read or written.
//   - The secret list is held against the path asked for, against every name that
//     a link brings, and against where it leads, in every spelling that some file
//     system folds to one of the list; a file with several names against those
//     that lie in the workspace. Nothing is told of what is there.
//   - Only regular files and directories are opened, and nothing blocks.
//   - A file is replaced as a whole: who opens it finds the old content or the
//     new one, also when a body breaks off, the disk is full or the machine
//     crashes. The new content has reached the disk by then (fsync); the name
//     reaches it with the file system's next commit, so that after a crash the
//     old content may be back. Directories that are missing are made when the
//     whole body is there: a write that fails leaves none.
//   - A link stays a link: what it leads to is replaced. The mode is kept, less
//     set-user-ID and set-group-ID, as when a file is written in place; owner,
//     group, ACL and extended attributes are kept as far as this user may set
//     them. Where the group can't be kept, it gets no more than others had.
//   - A file that this user may not write isn't replaced, though its directory
//     would allow that.
//   - edit-files computes everything before it writes anything, and exchanges
//     files only when all of the new ones are on the disk. When one can't be
//     exchanged, those before it are put back. What somebody else saves between
//     the reading and the exchange is not lost: the edits are made again on it.
//   - Memory is bounded, whatever is read or written: read-file and write-file
//     stream, read-file-lines holds its answer, and edit-files at most a few
//     files of Options.MaxEdit at a time.
//
// # Concurrency
//
// A Service serves any number of calls. Edits and the last step of a write to
// one file wait for each other; a write that comes second wins, an edit that comes
// second is made on what it finds.
//
// # Limits
//
// A directory that is moved out of the workspace while a call has it open is
// still used, as with every descriptor. Hard links: a replaced file has one name,
// and its others keep the old content; protected files outside of the workspace
// aren't compared. A crash in the middle, or kill -9, leaves a file named
// .waymark-*.tmp; where the file system can't exchange two files, edits to several
// files that fail at the last step are put back by a second rename, and where it
// has no hard links either they are not: the error says so. Who has a file open
// for writing while it is replaced goes on writing into the old one. Names that
// aren't UTF-8 can't be asked for and aren't listed.
package files
