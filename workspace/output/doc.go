// Package output converts the output of processes to text: views of head and tail for
// chats, and pages that end on a rune. The process service and the fake agent for tests
// share it.
//
// # Guarantees
//
//   - Results are valid UTF-8: each invalid byte becomes U+FFFD.
//   - A rune is never split between two pages or at a cut, even while it is still being written.
//
// # Concurrency
//
// All functions are pure.
package output
