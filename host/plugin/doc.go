// Package plugin is the catalog of resolver modules. It finds their files, decides which of
// them may run, loads those, follows the files while the agent runs, and provides the result
// as immutable lists.
//
// # Life of a module
//
//  1. Its file appears in a plugin directory, or was named individually. It is read once it
//     is complete and hasn't changed for a moment. A file, directory or link that somebody
//     else could have written is not read at all.
//  2. It is described: what it finds and wants to read. The description comes from the Store
//     if an earlier process has loaded the same content, else from loading it. Content that
//     an earlier process has died of is quarantined until Retry.
//  3. It is judged. Of several modules with one name the first file's is used. A module whose
//     reads have grown waits for Approve; see package approvals.
//  4. It is loaded, while the previous list stays in use, and tried on an empty directory.
//     After a failure that may be temporary it is retried later.
//  5. It enters the list. Acquire returns it to callers that run its resolvers.
//  6. New content of its file takes the same path, and replaces it in another list. If the
//     new content can't be used, or waits, the previous version stays in the list, and its
//     state says so.
//  7. When its file is gone, it is used for a moment longer, in case the file is only being
//     renamed, and then leaves the list.
//  8. It is closed when neither the current list nor an acquired one contains it.
//
// The built-in module has no file. It is loaded first, needs no approval, and stays.
//
// # Life of a Catalog
//
// New starts nothing. Load makes the first list. Run follows the files and makes another list
// whenever needed; Changed says when. Prepare, and Commit of its result, put another
// configuration into effect. When life, the context given to New, has ended, Close frees
// everything.
//
// # Guarantees
//
//   - A list doesn't change, and its modules stay loaded from Acquire to Release.
//   - A list is published whole: a caller that uses one list at a time never mixes two
//     versions of a module.
//   - Unused modules are in the list as well, with the reason in one line.
//   - No untrusted file is read, and no module runs that has to wait for an approval,
//     whatever happens to its file meanwhile.
//
// # Concurrency
//
// All methods may be called from any goroutine, except New and those of a Change. One lock
// covers changes of the modules: Load, Prepare, Approve, Retry and Run wait for each other.
// Prepare interrupts those that load modules, and they start again afterwards. Users of an
// acquired list never wait for the lock.
//
// # Limits
//
// Run is no barrier for files, which it reads with a delay. Load, Prepare and Retry read them
// in their current state; Load and Prepare don't try modules on an empty directory. Which of
// several files with one name is used depends on their order, so that a restart chooses the
// same. But a working version that was replaced by a broken one is gone when the process
// ends. A module that fails only where there is something to find replaces the previous
// version, and then counts as failing.
//
// # Modules that a process died of
//
// [Crashes] records on disk which modules are running, so that the next process knows which
// module its predecessor died of, and doesn't run it again. It is a small file of one process,
// mapped into its memory, with a slot for each active call of a module; calls beyond 64 at a
// time aren't recorded. Recording a call costs some stores to memory. They survive a process
// that is killed, but not a power failure, and a record of another boot isn't trusted.
// [OpenCrashes] reads the records of processes that ended without closing them, and quarantines
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
// [Crashes.Release]. All methods may be called from any goroutine, even on nil Crashes, which
// record nothing. Several processes share a directory; each has its own file there, and keeps it
// locked while it runs. Anybody who can write to the directory can cause or prevent a
// quarantine, and crash the process by truncating its file, so it has to be the user's own.
package plugin
