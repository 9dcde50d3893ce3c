// Package scaffold writes the start of a new resolver: source that builds, a
// fixture that passes, the kit of its language and a README with the next steps.
//
// The kit lies in the directory sdk of the resolver, as it stands in the program
// that wrote it, so that nothing has to be downloaded; Update replaces it by the
// one of this program. Of Go it is a module of its own, named in a replace
// directive: unlike a vendor directory that lets the author add dependencies
// with go get.
//
// An example of this repository can be copied in the place of a scaffold: with
// the same kit, it needs nothing else of the repository.
//
// # Guarantees
//
//   - Write leaves a complete directory or none: it is made next to its place
//     and renamed. What exists and isn't empty is refused.
//   - Update replaces the kit as a whole or leaves it as it was, and refuses to
//     throw away changes that somebody made in it.
//   - Equal arguments write equal bytes.
//
// # Templates
//
// Each language has a directory in templates. A file whose name ends in .tmpl
// loses that, and what stands in it between <<< and >>> is filled in (.Name and
// .File, see data); other files are copied as they are. Which files of the
// repository make up the kit of a language stands in parts.
//
// # Concurrency
//
// Functions without state. Of two that write the same directory one fails.
package scaffold
