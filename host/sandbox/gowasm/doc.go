// Package gowasm makes modules that Go has compiled smaller where it counts: in the native
// code that is made of them. It is for build tools, for modules whose source is ours.
//
// # What it does
//
// Go's compiler writes each function as a loop around a branch table. Here jumps lead
// where they go, and the table keeps what a function is entered, resumed or jumped back
// by (dispatch.go). A function reaches its whole frame from one value (frame.go), and other
// loads and stores are made to share addresses (address.go), so that the engine compares
// fewer of them with the memory's size. Of the table by which the runtime finds functions what
// is never read is left out (functab.go). Together that makes the native code of the built-in
// module two fifths smaller, and it takes less time to run.
//
// # Guarantees
//
//   - What a module does stays the same, but for its fuel, as long as Go's compiler and
//     runtime keep to what is said in those files; TestGo looks at the runtime's part of it.
//   - A number that isn't in a table any more traps. Nothing else is run in its place.
//   - Functions that don't begin as Go's do aren't changed.
//   - Equal input gives equal output.
//
// # Concurrency
//
// The package has no state; Shrink may be called by any number of goroutines.
//
// # Limits
//
// What hosts are given by others is never run through this: it relies on more than on what
// WebAssembly says.
package gowasm
