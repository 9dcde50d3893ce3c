// Package connect adds the agent's MCP server to the user's configuration of coding agents,
// and removes it again; and mends what differs between them in a project.
//
// # Guarantees
//
//   - Only the entry changes in a file; every other byte stays: comments, order, line ends. Before
//     writing, the result is parsed as the client would, and compared with the original. A file
//     that can't be parsed, or can't be changed this way, stays untouched.
//   - Undo restores a file byte for byte if nobody has changed it since; otherwise it removes only
//     the entry. It removes a file that was created for the entry.
//   - Files are replaced atomically, with their mode and owner; a link stays one. Before any change,
//     the original is stored in the state directory, readable only by this user. A file that
//     changes during an edit stays untouched.
//   - No token is written anywhere.
//
// # Concurrency
//
// A lock file serializes Connect and Undo of several processes. If a client writes its file
// between the last check and the replacement, its changes are lost; no file system call
// prevents that.
//
// # Limits
//
// Files may have up to 16 MiB. A file's access control lists, extended attributes and other
// hard links aren't kept. An entry that a user has written in another form than as an
// object, or as a table with its own heading, is found but not removed.
//
// # Mending
//
// A [Project] makes and undoes the changes that host/codingagents proposes for what reaches some
// coding agents of a project and not others, and keeps which differences the project accepts. A
// change is made in the project's directory alone: no path of it leads out over a link (os.Root).
// A file of up to 4 MiB that exists is replaced as a whole, with its mode, and only if git has
// nothing uncommitted of it; nothing is overwritten by a new file or a link. What was there is
// recorded before, and Undo restores it byte for byte, unless the file was changed since. Calls
// from several processes exclude each other by a lock beside the records.
package connect
