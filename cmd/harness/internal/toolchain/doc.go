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
//
// # Scaffolds
//
// [Write] writes the beginning of a new resolver: source that builds, a fixture that passes, the
// kit of its language, and a README with the next steps. It leaves a complete directory or none:
// the directory is made next to its place and renamed, and an existing one that isn't empty is
// refused. An example of this repository can be copied instead.
//
// The kit is in the resolver's directory sdk, copied from the program, so that nothing must be
// downloaded. [Update] replaces the whole kit by this program's or nothing, and refuses to
// discard changes in it. For Go it is a separate module, named by a replace directive: unlike
// with a vendor directory, authors can add dependencies with go get.
//
// Each language has a directory in templates. Files with the suffix .tmpl lose it, and the parts
// between <<< and >>> in them are filled in (.Name and .File, see data); other files are copied
// unchanged. Equal arguments write equal bytes. parts lists the repository's files in the kit of
// each language.
package toolchain
