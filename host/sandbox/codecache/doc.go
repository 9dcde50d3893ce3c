// Package codecache gets the native code of a module: embedded at build time, kept from an
// earlier process, or compiled, by default in a child process under limits.
//
// wazero's own cache executes every file that it finds with a valid CRC. One damaged file
// fails all later loads, and so does a failed write. So here wazero only ever sees a fresh
// private directory with the code of one module, from a trusted source: the agent's own
// binary, a sealed store (package sealedstore) or the compiler. The directory is removed when
// the module is loaded.
//
// # Where code is executed
//
// wazero reads code into anonymous memory, which is private to this process and which the
// system can't reclaim. On Linux the file with the code is mapped over that memory before
// anything is called, private and never writable. For embedded code that is the agent's own
// file, in which Place has aligned it, so that all agents of a machine share one copy. For
// other code it is a memory file of this process that is sealed against all changes.
//
// Reading 22 MiB only to replace them took a tenth of a first start, and caused its peak of
// memory. So wazero is given zeros through a pipe, and their checksum; the file's own
// checksum is verified when it is mapped. wazero's memory is found by random marks among the
// zeros, so it can be neither another's memory nor a mapping that is about to go. If any of
// this fails, the module is loaded once more, with a copy.
//
// A mapped page that is read again has the current content of its file. So others must not be
// able to write to the file, because they could run code in the agent. That is true of the
// rest of the agent's binary, too, but no reason for more of it: an executable that belongs
// to anybody but root and this user, or that group or others may write to, isn't mapped. The
// same holds if there are no memory files, if the pages differ, or if the system forbids it.
// The anonymous copy then serves as well, and one warning says why. A replaced file is no
// such case: /proc/self/exe is what this process was started from, under whatever name. A
// file that is rewritten in place, which Linux refuses for running programs, breaks the agent
// as ever.
//
// When wazero finds native code, it uses only the types of a module, but decodes and
// validates all of it first. So it is given a stub, the module with bodies that trap, and the
// code is stored under the stub's name. For the built-in module that saves a fifth of a
// start. The module itself is neither kept nor embedded with the code.
//
// # What else is packed with code
//
// Code that was compiled ahead of time can have an Extra that its user needs when it loads
// the module: a text, and pages in the program's file that can be mapped like the code. Both
// have checksums of their own, so that damage to them doesn't affect the code. Cached or
// newly compiled code has no Extra.
//
// # Guarantees
//
//   - Native code from any other source is never executed. Doubtful code is a miss: removed,
//     logged, compiled anew.
//   - A stub runs only with the code of its own module. The name of the code is the stub's
//     digest. Digests and a checksum cover the rest and are verified before anything is
//     called, and both have equally many functions. If wazero for any reason hasn't taken
//     what it was offered, the module isn't used.
//   - An Extra is returned only if its checksums are right.
//   - A store that can't be written to costs a warning and a compilation at the next start,
//     but never a load.
//   - Code compiled for another version of wazero, of the rewriter or of this package, for
//     another system or other CPU features is a miss.
//   - A module that takes too much processor time, memory or output to compile is refused
//     with a *LimitError, and the requesting process is unaffected. If the machine is too
//     busy, which is no module's fault, there is a *BusyError after minutes of waiting.
//
// # Concurrency
//
// A Cache may be used by any number of goroutines and its directories by any number of
// processes. A Code belongs to one module.
//
// # Limits
//
// See package sealedstore for what the seal doesn't protect from. The parent executes the
// child's native code after checking only its form: this very binary compiles it, and a
// module that could take over Go's memory-safe compiler in the child could have done so in
// the parent. The child checks its own memory every few milliseconds; on Linux the kernel
// stops it 192 MiB above the limit, elsewhere nothing does. Modules are compiled without
// function listeners.
package codecache
