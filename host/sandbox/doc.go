// Package sandbox compiles, instantiates and calls resolver modules under
// limits. It is the only package of the product that knows wazero.
//
// # Guarantees
//
//   - A module gets what it is given and nothing else: a read-only view of one
//     root through host/vfs, memory for what passes between it and the host, a
//     WASI without network, environment, arguments, real clock or real random
//     numbers. What would
//     change a file answers EROFS, and sleeping returns at once.
//   - Every run takes a fresh instance, prepared beforehand where possible, and
//     discards it, whatever happened: nothing leaks from one run to the next.
//     Instances begin with an image of one that
//     was initialized, where that is possible (Module.Instances); from inside and
//     outside they are as those that are initialized by themselves. The image is made when
//     the module is loaded, or comes with its native code (Ahead).
//   - A run ends by its deadline, its fuel, or with its context, whatever the
//     guest does: every module is metered when it is loaded (package meter), and
//     what the host does for a guest is charged and looks at the deadline, too.
//   - The functions that a module may import are those of one table,
//     hostImports. Each bounds what its arguments ask for before anything loops
//     over them, is charged for it, and so looks at the deadline. What wazero
//     implements has a guard in front, through which tables and references lead
//     as well.
//   - What the Extism convention keeps of an instance is the host's: a guest
//     reads and writes the bytes of its live blocks, and an access that doesn't
//     lie in one ends the run.
//   - Of the units of a run (abi/ABI.md, "Units") the next run gets what
//     host/vfs has found to hold, and nothing when nobody called Run.Recall.
//   - Native code comes from the agent's own binary, the sealed cache or the
//     compiler (package codecache), and from nowhere else.
//   - Guest text (errors, panics, logs, warnings) is bounded, made valid UTF-8
//     and, for resolvers that read files with tokens, withheld.
//
// # Concurrency
//
// A Host and a Module may be used by any number of goroutines. Each run owns
// its instance.
//
// # Limits
//
// See Limits. Memory is counted in pages of 64 KiB, and separately for the
// module's own and for blocks, what the host keeps of each block included.
package sandbox
