// Package conform checks one resolver module: that it keeps to the ABI
// (abi/ABI.md), and that it behaves well in workspaces nobody tidied up.
//
// It makes workspaces from what the module declares in reads: a file at every
// place it names, and some for every pattern. Then it puts in their place what
// is found in the wild: links out of the root, pipes, huge files, bytes that
// aren't text, thousands of entries. Everything runs through package host, as
// in the agent, so that what passes here behaves the same there. Only requests
// that a host doesn't make (another ABI version, unknown fields) go to
// host/sandbox directly.
//
// # Guarantees
//
//   - A module's misdeeds are findings, never errors of Check.
//   - The same module, options and user give the same findings, as far as it
//     isn't a matter of time: the workspaces don't depend on chance.
//   - Nothing is written but in a directory of its own, which is removed.
//   - A resolver that exceeds its deadline isn't run any further, so that a
//     check ends in seconds.
//
// # Concurrency
//
// Check may be called by several goroutines at once. It starts none that
// outlives it.
//
// # Limits
//
// A resolver that looks for a certain content (a JSON document of its own, say)
// is reached only as far as the made-up files go; it is reported when they gave no
// resource at all. As root no file is unreadable by its mode; sockets, links
// out of the root and pipes stand in. Units are checked by what comes of them,
// on one sequence of edits.
package conform
