// Package codecache gets the native code of a module: embedded at build time,
// kept from an earlier process, or compiled, by default in a child process
// under limits.
//
// wazero's own cache executes every file that it finds and has a CRC; one
// damaged file fails all later loads, and so does a write that fails. So here
// wazero only ever sees a fresh private directory with the files of one module,
// taken from where they can be trusted: the agent's own binary, a sealed store
// (package sealed) or the compiler. The directory is gone when the module is
// loaded.
//
// # Guarantees
//
//   - Native code that didn't come from one of the three is never executed.
//     Everything doubtful is a miss: removed, logged, compiled anew.
//   - A store that can't be written costs a warning and a compilation at the
//     next start, never a load.
//   - Code compiled for another version of wazero, of the rewriter or of this
//     package, for another system or other CPU features is a miss.
//   - A module that takes too much time, memory or output to compile is refused
//     with a *LimitError, and the process that asked is unaffected.
//
// # Concurrency
//
// A Cache may be used by any number of goroutines and its directories by any
// number of processes. A Code belongs to one module.
//
// # Limits
//
// See package sealed for what the seal doesn't protect from. The child's result
// is native code that the parent executes after checking its form only: it is
// this very binary that compiles, and a module that could take over Go's
// memory-safe compiler in the child could have done so in the parent. The
// child watches its own memory every few milliseconds; on Linux the kernel stops
// it 192 MiB above the limit, elsewhere nothing does.
// Modules are compiled without function listeners.
package codecache
