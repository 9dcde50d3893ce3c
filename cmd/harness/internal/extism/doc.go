// Package extism runs resolver modules in the unmodified Extism SDK for Go, to show that
// they run on any Extism host.
//
// The module is the author's original, neither metered nor rewritten. What isn't part of
// Extism (the functions of extism:host/user, and the root as WASI shows it) is implemented
// here again from abi/ABI.md, as any host would have to, on top of host/vfs. Units are
// begun and ended but never remembered, because a host may forget them. Clocks and random
// numbers are those of host/sandbox, so that answers can be compared.
//
// # Guarantees
//
//   - Every call of resolve uses a fresh instance, which must describe itself first, before it has a
//     root.
//   - A Child runs modules in a separate process with limits of time, memory and output, which ends
//     with its parent. The caller gets an answer, or a Fault that names the exceeded limit.
//
// # Limits
//
// The SDK limits neither work nor what its own kernel does, so unreviewed modules must run
// in a Child. Load, which runs them in this process, is for the child, and for tests of
// modules that are known to end.
//
// # Concurrency
//
// A Module and a Child may be used by any number of goroutines.
package extism
