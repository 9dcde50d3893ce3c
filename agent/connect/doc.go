// Package connect writes the agent's MCP server into the user's configuration of coding
// agents, and takes it away again.
//
// # Guarantees
//
//   - A file is changed by the one entry, and else keeps every byte: comments, order,
//     line ends. What is written is compared with what was read, as the client will
//     read it, before it is written; a file that can't be parsed, or changed so, is left
//     alone.
//   - Undo gives a file back byte for byte if nobody has touched it since, and else
//     removes the entry alone. A file that was made for the entry goes with it.
//   - Files are replaced as a whole, with their mode and owner; a link stays one. What was
//     there before is kept in the state directory, for this user only, before anything is
//     changed. A file that changes while it is edited is left alone.
//   - No token is written anywhere.
//
// # Concurrency
//
// Connect and Undo of several processes take turns by a lock file. A client that writes
// its file in the moment between the last look at it and its replacement loses what
// it wrote: no file system call prevents that.
//
// # Limits
//
// Files have up to 16 MiB. Access control lists and extended attributes of a file aren't
// kept, nor are its other hard links. An entry that somebody has written down in another
// way than as an object, or a table with a heading of its own, is found but not removed.
package connect
