// Package output makes text of what processes write: views of head and tail, as
// chats read them, and pages that end on a rune. The process service and the
// client's fake show the same by it.
//
// # Guarantees
//
//   - What is returned is valid UTF-8, whatever was written: each byte that is no
//     part of a rune becomes U+FFFD.
//   - A rune is never divided, between two pages or at a cut, also while it is still
//     being written.
//
// # Concurrency
//
// All functions are pure.
package output
