// Package toolchain turns the source of a resolver into a .wasm file with the
// toolchain of its language.
//
// # Guarantees
//
//   - The output appears whole or not at all: it is built next to its place and
//     renamed, and a build that fails leaves the one before.
//   - Equal source and an equal toolchain make equal bytes: no paths, no times,
//     no version control stamps.
//   - A toolchain that isn't there is a *MissingError, which says what is
//     missing and how to get it. Everything else that a toolchain has to say
//     goes to Options.Stderr as it stands.
//   - Nothing is installed. Go is told not to download toolchains or modules
//     when Options.Offline is set; C never needs the network.
//
// # Concurrency
//
// Build may be called by many goroutines at once, also for one directory.
//
// # Limits
//
// A source directory has one language. What the toolchains understand (the
// versions of Go and clang) is found out by asking them, not by their names. AssemblyScript
// stays at 0.27: 0.28 takes Node 20, and Debian 12 has 18.
package toolchain
