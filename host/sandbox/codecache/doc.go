// Package codecache gets the native code of a module: embedded at build time,
// kept from an earlier process, or compiled, by default in a child process
// under limits.
//
// wazero's own cache executes every file that it finds and has a CRC; one damaged
// file fails all later loads, and so does a write that fails. So here wazero only
// ever sees a fresh private directory with the code of one module, taken from
// where it can be trusted: the agent's own binary, a sealed store (package
// sealed) or the compiler. The directory is gone when the module is loaded.
//
// # Where code is executed
//
// wazero reads code into anonymous memory, which is this process's alone and
// which the system can't have back. On Linux the file that the code came from is
// mapped over that memory before anything is called, private and never writable: for
// embedded code the agent's own file, in which Place has seen to its alignment, so
// that all agents of a machine share one copy, and for other code a memory file
// of this process that is sealed against all changes. Reading 22 MiB only to replace
// them was a tenth of a first start, and the highest that memory ever was: so wazero
// is given zeros through a pipe, and the checksum of these; the file's own checksum is
// looked at when it is mapped. wazero's memory is found by random marks that it was
// given with the zeros, so it can be no other's, and no mapping that is about to go.
// Where something of this fails the module is loaded once more, with a copy.
//
// A mapped page that is read again from its file is what the file holds then. So
// the file must be one that others can't write: whoever writes it runs code in
// the agent. That is so for the rest of the agent's binary, too, but it is no
// reason for more of it: of an executable that belongs to somebody else than root
// and this user, or that group or others may write, nothing is mapped. Neither is
// it where there are no memory files, or the pages differ, or the system forbids
// it: the anonymous copy does as well, and one warning says why. A file that was
// replaced is no such case: /proc/self/exe is what this process was started from,
// under whatever name. One that is rewritten in place, which Linux refuses for
// programs that run, takes the agent with it, as it always has.
//
// Where wazero finds native code it looks at a module for its types alone, after
// it has decoded and validated all of it. So it is given a stub, the module with
// bodies that trap, under whose name the code lies: of the built-in module that is
// a fifth of a start. The module itself is neither kept nor embedded with the
// code.
//
// # What else is packed with code
//
// Code that was compiled ahead of time can have something with it that its user wants
// at hand when it loads the module (Extra): a text, and pages that lie in the program's
// file so that they can be mapped, as the code does. Both have checksums of their own, so
// that damage to them costs the user these and nobody the code. Code that is kept or was
// just compiled has no such thing.
//
// # Guarantees
//
//   - Native code that didn't come from one of the three is never executed.
//     Everything doubtful is a miss: removed, logged, compiled anew.
//   - A stub is run with the code of its own module only: the name of the code is
//     the stub's digest, digests and a checksum cover the rest, which are looked at
//     before anything is called, and both have equally many functions. Where wazero, for whatever reason, has not taken
//     what it was offered, the module isn't used.
//   - What is packed with code is handed out only when its checksums are right.
//   - A store that can't be written costs a warning and a compilation at the
//     next start, never a load.
//   - Code compiled for another version of wazero, of the rewriter or of this
//     package, for another system or other CPU features is a miss.
//   - A module that takes too much processor time, memory or output to compile is
//     refused with a *LimitError, and the process that asked is unaffected. Where a
//     machine is busy that is no module's fault: after minutes of waiting there is a
//     *BusyError.
//
// # Concurrency
//
// A Cache may be used by any number of goroutines and its directories by any
// number of processes. A Code belongs to one module.
//
// # Limits
//
// See package sealedstore for what the seal doesn't protect from. The child's result
// is native code that the parent executes after checking its form only: it is
// this very binary that compiles, and a module that could take over Go's
// memory-safe compiler in the child could have done so in the parent. The
// child watches its own memory every few milliseconds; on Linux the kernel stops
// it 192 MiB above the limit, elsewhere nothing does.
// Modules are compiled without function listeners.
package codecache
