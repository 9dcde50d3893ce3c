// Package toolchain compiles the source of a resolver to a .wasm file with the toolchain of
// its language.
//
// # Guarantees
//
//   - The output appears atomically: it is built next to its place and renamed. A failed build leaves
//     the previous output.
//   - Equal source and toolchain give equal bytes: no paths, times or version control stamps.
//   - A missing toolchain is a *MissingError, which says what is missing and how to get it. All other
//     output of a toolchain goes to Options.Stderr unchanged.
//   - Nothing is installed. With Options.Offline, Go may not download toolchains or modules; C never
//     needs the network.
//
// # Concurrency
//
// Build may be called concurrently, even for one directory.
//
// # Limits
//
// A source directory has one language. The supported features and versions of Go and clang
// are determined by asking them, not by their names.
package toolchain
