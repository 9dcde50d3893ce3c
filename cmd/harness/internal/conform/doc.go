// Package conform checks a resolver module: whether it follows the ABI (abi/ABI.md), and
// whether it behaves well in untidy workspaces.
//
// It makes workspaces from the module's reads: a file at every place that it names, and
// some for every pattern. Then it replaces them by what occurs in practice: links out of
// the root, pipes, huge files, bytes that aren't text, thousands of entries. Everything
// runs through package host, as in the agent, so that a module that passes behaves the same
// there. Only requests that a host doesn't make (another ABI version, unknown fields) go to
// host/sandbox directly.
//
// # Guarantees
//
//   - A module's faults are findings, never errors of Check.
//   - The same module, options and user give the same findings, except for timing: the workspaces
//     aren't random.
//   - Files are written only in a temporary directory.
//   - A resolver that exceeds its deadline isn't run again, so that a check takes seconds.
//
// # Concurrency
//
// Check may be called concurrently. It leaves no goroutine behind.
//
// # Limits
//
// A resolver that needs certain content (its own JSON documents, for example) is tested
// only as far as the generated files go; if it returned no resource at all, the report says
// so. For root, modes don't make files unreadable; sockets, links out of the root and pipes
// take their place. Units are checked by their results, on a single sequence of edits.
package conform
