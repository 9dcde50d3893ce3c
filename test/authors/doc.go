// Package authors tests what authors of resolvers and templates get: the commands in
// docs/write-a-resolver.md, the resolvers in examples, and the workspace template.
//
// # Guarantees
//
// The tests use the real programs, built from the current source, in their own home: the
// tutorial's output is the real output.
//
// # How a page is run
//
// The fenced blocks of a Markdown page run in order; see Parse. The commands of all sh
// blocks share a directory, and their output is compared with the text block that follows.
//
// # Limits
//
// It has only tests. Programs are built once per test binary.
package authors
