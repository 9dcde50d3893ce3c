// Package sqlite is the hub's embedded store: a single SQLite database file, in pure Go
// (modernc.org/sqlite).
//
// # Guarantees
//
//   - A database is created with mode 0600, and a missing directory for it with mode 0700.
//     Existing ones stay as they are.
//   - If a file belongs to another program, was written by a newer hub, or is damaged, Open returns
//     a clear error and doesn't change it.
//   - A crash of the process loses nothing that was acknowledged. A crash of the machine may lose
//     the last moments (WAL with synchronous=NORMAL): agents send that again when they reconnect,
//     and a sync would cost more than the whole push. After a boot of the machine the revision
//     jumps by a million, so that lost revisions aren't reused for something else.
//
// # Concurrency
//
// One connection writes, with immediate transactions, so that none fails because it must be
// upgraded. A few other connections read and are never blocked by the writer. Concurrent
// writes share a transaction, and callers get their answers after it was committed: each
// change is applied completely or not at all, and a failed one doesn't affect the others.
// If a caller gives up before its change is begun, the change isn't made. The WAL is
// checkpointed in parallel. Several processes may use one file (hub token and a running hub
// serve, for example); they wait for each other up to the busy timeout.
//
// # Limits
//
// The file must be on a local file system, because WAL needs shared memory. It doesn't
// shrink when history is dropped; the space is reused. The WAL has some 4 MiB, up to 32 if
// writes never pause, and more during a long read. Pushes of another process are noticed
// within a second, those of this process at once.
package sqlite
