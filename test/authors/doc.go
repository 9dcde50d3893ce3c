// Package authors tests what the authors of resolvers and templates are given:
// the commands of docs/write-a-resolver.md, the resolvers in examples, and the
// workspace template.
//
// # Guarantees
//
// Everything is done with the real programs, built from the source as it is
// now, in a home of its own: what the tutorial says is what happens.
//
// # How a page is run
//
// Of a Markdown page the fenced blocks count, in their order; see Parse. The
// commands of all sh blocks share a directory, and what they print is compared
// with the text block that follows.
//
// # Limits
//
// Tests only. Programs are built once per test binary.
package authors
