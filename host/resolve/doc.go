// Package resolve runs resolvers on roots and turns their answers into candidates for a
// snapshot.
//
// # Guarantees
//
//   - The bytes that a resolver saw are the bytes that are hashed and kept: both come from
//     the same vfs.Run.
//
//   - A bad row costs the row and a bad answer the run. Neither affects another resolver.
//
//   - Of an mcp_config only path, status, hash and size are kept, and an error in this
//     package's own words.
//
//   - A memo is used only after its whole trace was rechecked, or, with Root.Near, the part
//     near these paths.
//
//   - A resolver doesn't run for an edit of a part of a file that it hasn't read, because its
//     answer would be the same (Outcome.Rewritten). The file is read, hashed and classified
//     again.
//
//   - Memos from a Store follow the same rule. The key says that this program computed the
//     result for the same module, configuration and root; the trace says that it still holds.
//
// # Concurrency
//
// An Engine may be used by any number of goroutines. The runs of one call are parallel. For
// one (resolver, root) there is one run at a time, and callers that waited for it find its
// memo.
//
// # Limits
//
// There is one memo per (resolver, root). Retain forgets those of roots and resolvers that it
// isn't given. What hasn't been saved when the process ends is computed again.
package resolve
