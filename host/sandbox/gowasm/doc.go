// Package gowasm reduces the native code that is compiled from Go's WebAssembly modules. It
// is for build tools, and for modules whose source is ours.
//
// # What it does
//
// Go's compiler writes each function as a loop around a branch table. This package makes
// jumps go directly to their targets, and keeps in the table only what a function is entered,
// resumed or jumped back by (dispatch.go). A function addresses its whole frame from one
// value (frame.go), and other loads and stores share addresses (address.go), so that the
// engine compares fewer of them with the memory's size. The runtime's function table loses
// what is never read (functab.go). Together this makes the native code of the built-in module
// two fifths smaller, and faster.
//
// # Guarantees
//
//   - A module behaves the same, except for its fuel, as long as Go's compiler and runtime
//     conform to the assumptions in those files. TestGo checks those about the runtime.
//   - A number that was removed from a table traps. Nothing else is run in its place.
//   - Functions that don't begin as Go's do aren't changed.
//   - Equal input gives equal output.
//
// # Concurrency
//
// The package has no state; Shrink may be called by any number of goroutines.
//
// # Limits
//
// Never run a third-party module through this, because it relies on more than WebAssembly
// guarantees.
package gowasm
