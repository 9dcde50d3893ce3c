// Package hostile holds modules and workspaces that are written to break the
// agent, each with the outcome that the sandbox owes them, and runs them
// against the real engine through its public API. `make hostile` prints what
// came out and what it cost; this package's test asserts the outcomes.
//
// # A case
//
// A Case is a module, a plugin directory or a workspace, and a Want. It runs
// beside a victim, a second module in the same engine, whose rows must come out
// as if it were alone. Modules are text in the WebAssembly text format, or
// built by code where that says more; none is an opaque blob.
//
// # Guarantees
//
//   - Each case runs in a child process that is killed when its time is up: a
//     case that stops a whole process is a result like others.
//   - A case has no state: it runs in directories of its own, which are removed.
//   - Beside the stated outcome, each case is held to what no case may change:
//     the victim's rows, one line per error, nothing of a file outside the root
//     in anything that is said, no goroutine or descriptor left behind, a
//     bound on memory, and, when asked for, the time to the outcome and the
//     longest garbage collection elsewhere.
//
// # Concurrency
//
// Cases are plain data. A Pool may be used by many goroutines; each of its
// children runs one case at a time.
//
// # Limits
//
// Memory, descriptors and mappings are read from Linux's /proc. Figures of a
// busy machine are a busy machine's: `make hostile` takes medians.
package hostile
