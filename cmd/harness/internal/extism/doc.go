// Package extism runs resolver modules in the Extism SDK for Go as it is, to show
// that they run on any Extism host and not just on ours.
//
// The module is the author's own, neither metered nor rewritten. What isn't
// Extism's (the functions of extism:host/user, and the root as WASI shows it) is
// done here once more from abi/ABI.md, as any host would have to, on top of
// host/vfs. Units are begun and ended, but none is ever remembered: a host may
// forget them. Clocks and random numbers are those of host/sandbox, so that
// answers can be compared.
//
// # Guarantees
//
//   - Every call of resolve happens on a fresh instance, which is asked to
//     describe itself first, before it has a root.
//   - A Child runs modules in a process of its own, which has limits of time,
//     memory and output, and ends with whoever started it. Its caller gets an
//     answer, or a Fault that says which limit the module ran into.
//
// # Limits
//
// The SDK bounds neither work nor what its own kernel does, so modules that
// nobody has looked at belong into a Child. Load, which runs them in this
// process, is for the child, and for tests of modules that are known to end.
//
// # Concurrency
//
// A Module and a Child may be used by any number of goroutines.
package extism
