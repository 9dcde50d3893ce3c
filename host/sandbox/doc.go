// Package sandbox compiles, instantiates and calls resolver modules under limits. It is the
// only package of the product that knows wazero.
//
// # Guarantees
//
//   - A module gets only a read-only view of one root through host/vfs, memory to exchange
//     data with the host, and a WASI without network, environment, arguments, real clock or
//     real random numbers. Operations that would change a file fail with EROFS, and sleeping
//     returns at once.
//   - Every run takes an instance in the state of an initialized one: nothing leaks from one
//     run to the next. If possible, instances start from an image (Module.Instances), and are
//     set back to it after a run (Module.rearm); neither the guest nor an observer can tell
//     the difference. The image is made when the module is loaded, or comes with its native
//     code (Ahead).
//   - A run ends by its deadline, by its fuel, or with its context, whatever the guest does.
//     Every module is metered when it is loaded (package meter). The host's work for a guest
//     is charged and checks the deadline, too.
//   - A module may import only the functions of one table, hostImports. Each bounds its
//     arguments before anything loops over them, charges for them, and so checks the
//     deadline. Functions that wazero implements are called through a guard, even through
//     tables and references.
//   - The host keeps the state of the Extism convention. A guest reads and writes the bytes
//     of its live blocks; any other access ends the run.
//   - The next run gets those units of a run (abi/ABI.md, "Units") that host/vfs has found to
//     hold, and none if nobody called Run.Recall.
//   - Native code comes only from the agent's own binary, the sealed cache or the compiler
//     (package codecache).
//   - Guest text (errors, panics, logs, warnings) is bounded, made valid UTF-8 and, for
//     resolvers that read files with tokens, withheld.
//
// # Concurrency
//
// A Host and a Module may be used by any number of goroutines. Each run owns its instance.
//
// # Limits
//
// See Limits. Memory is counted in pages of 64 KiB, separately for the module's own and for
// blocks, including the host's bookkeeping of each block.
package sandbox
