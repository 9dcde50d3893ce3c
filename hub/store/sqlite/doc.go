// Package sqlite is the hub's embedded store: one SQLite database file, in
// pure Go (modernc.org/sqlite).
//
// # Guarantees
//
//   - A database is created with mode 0600; a directory that has to be made
//     for it has mode 0700. What exists is left as it is.
//   - A file that belongs to another program, was written by a newer hub, or
//     is damaged is refused by Open with one clear error and not changed.
//   - A crash of the process loses nothing that was acknowledged. A crash of
//     the machine may lose the last moments (WAL with synchronous=NORMAL): the
//     agents' next connections bring them again, and a sync per push would
//     cost more than the whole push. After a start of the machine the revision
//     jumps by a million, so that those that were lost are not used again for
//     something else.
//
// # Concurrency
//
// One connection writes, with immediate transactions, so that no transaction
// has to be upgraded and can fail for it; a few others read and are never
// blocked by the writer. What is to be written at the same time is written in one
// transaction, and nobody is answered before that is committed: each change is made
// as a whole or not at all, and one that fails doesn't concern the others. A change
// whose caller goes before it is begun isn't made. The WAL is folded into the file
// beside all that. Several processes may use one file (hub token as well as
// a running hub serve): they wait for each other up to the busy timeout.
//
// # Limits
//
// The file must be on a local file system: WAL needs shared memory. It doesn't
// shrink when history is dropped; the room is used again. The WAL is some 4 MiB, up to
// 32 while there is no moment without a write, and more while a long read goes on. What another process
// pushes is heard of within a second, what this one does at once.
package sqlite
