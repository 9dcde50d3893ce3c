// Package files serves the machine's files to chats over HTTP. It reads files as bytes or
// as numbered lines, writes them, lists directories, finds files and lines, and makes edits
// that replace texts. Paths, fields, codes and limits are those of Coder's agent, where it has
// the call. Package edit determines what matches in an edit, and package search what matches
// in a search.
//
// # Access
//
// Paths are absolute and may be anywhere, as chats need; Options.Within restricts them to
// the workspace. The agent's own directories (Options.Own), the secret list of package vfs
// except for what a token grants, and special file systems such as /proc are never
// accessible. A token with a fence may only write the file that it names.
//
// # Guarantees
//
//   - Every path is opened by descriptors, name by name and never through a link (package
//     internal/beneath), for reading and for writing. Links are read and then followed. A link
//     in the workspace can't lead out of it, and its target outside isn't accessed. If
//     directories or links are swapped meanwhile, the call fails, but never accesses another file.
//   - The secret list is checked against the requested path, every name in the target of a link,
//     and the final path, in every spelling that a file system may treat as the same.
//     Hard links are compared with secret files in the workspace, and with those in the
//     secret list's places in the home directory and in the agent's own places. Refusals
//     don't reveal what exists.
//   - Only regular files and directories are opened, and opening never blocks.
//   - A file is replaced atomically: readers see the old or the new content, even if a body is
//     incomplete, the disk is full or the machine crashes. The new content is on the disk (fsync)
//     before that. The name follows with the file system's next commit, so that after a crash the
//     old content may be back. Missing directories are created after the whole body has arrived;
//     a failed write leaves none behind.
//   - A link stays a link: its target is replaced. The mode is kept, without set-user-ID and
//     set-group-ID, as when a file is written in place. Owner, group, ACL and extended attributes
//     are kept as far as this user can set them. If the group can't be kept, the new one gets the
//     permissions of others.
//   - A file that this user may not write isn't replaced, even if its directory allows that.
//   - edit-files computes everything before it writes, and exchanges files only when all new ones
//     are on the disk. If an exchange fails, earlier ones are undone. What others save between
//     reading and exchanging isn't lost: the edits are repeated on it.
//   - Searches walk below a descriptor, never through a link, and find only what the caller may
//     read. Names, bytes and time are limited.
//   - Memory is limited: read-file and write-file stream, read-file-lines holds its answer, and
//     edit-files at most a few files of Options.MaxEdit at a time.
//
// # Concurrency
//
// A Service serves any number of calls. Edits, and the last step of writes, of the same
// file are serialized: the later write wins, and a later edit applies to what it finds.
//
// # Limits
//
// A directory that is moved out of the workspace while a call has it open is still used. A
// replaced file has only one name; its other hard links keep the old content. A crash or
// kill -9 may leave a file named .waymark-*.tmp. If the file system can't exchange two
// files, a second rename undoes failed edits of several files; without hard links they
// can't be undone, and the error says so. A program that has a file open for writing while
// it is replaced writes to the old one. Names that aren't UTF-8 can't be requested and
// aren't listed.
package files
