// Package crashlog records on disk which modules are running, so that the next process knows
// which module its predecessor died of, and doesn't run it again.
//
// A [Record] is a small file of one process, mapped into its memory, with a slot for each
// active call of a module. Recording a call costs some stores to memory. They survive a
// process that is killed, but not a power failure, and a record of another boot isn't
// trusted. [Open] reads the records of processes that ended without closing them, and
// quarantines
//
//   - the modules that were running when the process was ended because no goroutine ran any
//     more (see package stop of the commands). If one of them had exceeded its time limit,
//     only that one
//   - the same if the process was told to end, didn't, and used processor time instead. A
//     process that waited, perhaps for a disk, blames no module
//   - a module that was running each time when processes ended in any other way three times
//     in a row. It may exhaust the memory, or crash the runtime, but a single such end may
//     also be somebody's kill -9
//
// A quarantine is for the module's content, identified by its digest, and lasts until
// [Record.Release].
//
// # Concurrency
//
// All methods may be called from any goroutine, even on a nil Record, which records nothing.
// Several processes share a directory; each has its own file there, and keeps it locked while
// it runs.
//
// # Limits
//
// Calls beyond 64 at a time aren't recorded. Anybody who can write to the directory can cause
// or prevent a quarantine, and crash the process by truncating its file, so it has to be the
// user's own.
package crashlog
