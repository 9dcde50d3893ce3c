// Package scaffold writes the beginning of a new resolver: source that builds, a fixture
// that passes, the kit of its language, and a README with the next steps.
//
// The kit is in the resolver's directory sdk, copied from the program, so that nothing must
// be downloaded. Update replaces it by this program's kit. For Go it is a separate module,
// named by a replace directive: unlike with a vendor directory, authors can add
// dependencies with go get.
//
// An example of this repository can be copied instead of a scaffold. With the same kit, it
// needs nothing else from the repository.
//
// # Guarantees
//
//   - Write leaves a complete directory or none: it is made next to its place and renamed. An
//     existing directory that isn't empty is refused.
//   - Update replaces the whole kit or nothing, and refuses to discard changes in it.
//   - Equal arguments write equal bytes.
//
// # Templates
//
// Each language has a directory in templates. Files with the suffix .tmpl lose it, and the
// parts between <<< and >>> in them are filled in (.Name and .File, see data); other files
// are copied unchanged. parts lists the repository's files in the kit of each language.
//
// # Concurrency
//
// The functions have no state. Of two concurrent writes of the same directory one fails.
package scaffold
