// Package plugin is the catalog of resolver modules: it finds their files,
// decides which of them may run, loads those, follows the files while the agent
// runs, and hands out what is to be used as lists that don't change.
//
// # Life of a module
//
//  1. Its file appears in a plugin directory, or was named by itself. It is read
//     when it has stayed the same for a moment and is whole. A file, directory or
//     link that somebody else could have written is not read at all.
//  2. It is described: what it finds and what it wants to read comes from the
//     Store, when an earlier process has loaded the same content, else from
//     loading it. A content that an earlier process has died of is quarantined
//     until Retry.
//  3. It is judged: of several modules of one name the first file's is used, and
//     one whose reads have grown waits for Approve; see package approvals.
//  4. It is loaded, while the list before it stays in use, and tried on an empty
//     directory. What fails for a reason that may pass is tried again later.
//  5. It comes into the list. Acquire gives it to whoever runs its resolvers.
//  6. A new content of its file goes the same way, and takes its place in
//     another list. One that can't be used, or waits, leaves the version before
//     it in the list, whose state says so.
//  7. When its file is gone, it is used for a moment longer, in case the file
//     only gets another name, and then leaves the list.
//  8. It is closed when neither the current list nor one that was acquired has
//     it any more.
//
// The built-in module has no file: it is loaded first, needs no approval, and
// stays.
//
// # Life of a Catalog
//
// New starts nothing. Load makes the first list. Run keeps it true to the files
// and makes another whenever that is needed; Changed says when. Prepare, and
// Commit of what it returns, put another configuration in force. When life, the
// context that New was given, has ended, Close frees everything.
//
// # Guarantees
//
//   - A list doesn't change, and its modules stay loaded from Acquire to Release.
//   - A list is published whole: whoever uses one at a time never mixes two
//     versions of a module.
//   - What isn't used is in the list as well, with the reason in one line.
//   - No file that isn't trusted is read, and no module runs that has to wait for
//     an approval, whatever happens to its file meanwhile.
//
// # Concurrency
//
// All methods may be called from any goroutine, but for New and those of a Change. The modules have one turn: Load,
// Prepare, Approve, Retry and Run wait for each other, and Prepare interrupts
// those that load modules, which begin anew after it. Who has acquired a list
// never waits for the turn.
//
// # Limits
//
// Run is no barrier for files: they have a pace of their own. Load, Prepare and
// Retry take them as they are at that moment; Load and Prepare try nothing on an
// empty directory. Which of several files of one name is used is decided by
// their order, so that a start finds what was there before; but a version that
// was replaced by a broken one is gone with the process. A module that fails
// only where there is something to find takes the place of the version before
// it, and is a failing plugin then.
package plugin
