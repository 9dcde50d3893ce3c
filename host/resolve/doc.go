// Package resolve runs resolvers on roots and turns what they answer into
// candidates for a snapshot.
//
// # Guarantees
//
//   - The bytes that a resolver saw are the bytes that are hashed and kept: both
//     come from the same vfs.Run.
//
//   - A bad row costs the row, a bad answer the run, and neither costs another
//     resolver anything.
//
//   - Of an mcp_config nothing is kept but its path, status, hash and size, and
//     an error that this package wrote itself.
//
//   - A remembered result is used only when its whole trace has been re-checked, or,
//     with Root.Near, what is near these paths; nothing else makes it fresh.
//
//   - A resolver isn't run for an edit of what it hasn't read of a file: its answer would
//     be the one that it gave (Outcome.Rewritten). The file is read, hashed and classified
//     anew.
//
//   - What a Store has kept is used under the same rule: the key says that it
//     was computed by this program for the same module, configuration and root,
//     and the trace that it still holds.
//
// # Concurrency
//
// An Engine may be used by any number of goroutines. Runs of one call go in
// parallel; of one (resolver, root) there is one at a time, and who waited for
// it finds its memo.
//
// # Limits
//
// There is one memo per (resolver, root); those of roots and resolvers that a
// call doesn't name are forgotten by Retain. What hasn't been saved when the
// process ends is computed again.
package resolve
