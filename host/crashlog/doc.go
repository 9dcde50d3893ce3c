// Package crashlog records on disk which modules are running, so that the next
// process knows what its predecessor died of and doesn't run it again.
//
// A [Record] is a small file of one process, mapped into its memory: a slot for
// each call of a module that is going on. Noting a call costs some stores to
// memory. They outlive a process that is killed, not a machine that loses its
// power, and a record of another boot is not believed. [Open] reads the records
// whose processes are gone without having closed them, and quarantines
//
//   - the modules that were running when the process was ended because no
//     goroutine ran any more (see package stop of the commands). Where one of
//     them had run longer than it may, it alone;
//   - the same when the process was told to end, didn't, and used processor
//     time instead. One that waited, for a disk perhaps, blames no module;
//   - a module that was running each time when processes ended in any other way
//     three times in a row: it may exhaust the memory, or crash the runtime, but
//     one such end may as well be somebody's kill -9.
//
// A quarantine is for the module's content, as its digest says, and lasts until
// [Record.Release].
//
// # Concurrency
//
// All methods may be called from any goroutine, on a nil Record too, which
// records nothing. Several processes share a directory; each has its own file
// there, and keeps it locked as long as it lives.
//
// # Limits
//
// Calls beyond 64 at a time aren't recorded. Whoever can write to the directory can
// have modules quarantined, or not, and crash the process by cutting its file:
// it has to be the user's own.
package crashlog
