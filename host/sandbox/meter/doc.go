// Package meter rewrites a WebAssembly module so that its running can be
// counted and stopped, and refuses modules that would be too costly to compile
// or to instantiate.
//
// # How it works
//
// A mutable i64 global, the budget, is appended to the module. Each function
// entry and each loop header takes from it the cost of its region: the
// instructions whose innermost enclosing loop it is (or the function's body,
// outside loops). Within a region control only goes forward, so what was taken
// at its head covers whatever is run of it; branches that are not taken are
// paid for too. Large regions are paid for in parts (see region.go). A jump to the
// head of a loop that dispatches on a local, which is how Go's compiler jumps, goes
// at once where it leads, if that is forward: it is neither charged nor checked, and
// faster than it was (see thread.go). Bulk
// operations are paid by their size before they begin. When the budget would be
// below zero at a head, the module calls the import ImportTick, which returns what
// is added to the budget, or traps, and tries again: nothing is run that isn't
// paid for but parts and bulk operations, and those are by the next head. The
// budget begins at zero, so the first thing that a fresh instance does is to ask.
//
// A call of an export named in Options.Wrap ends with a call of ImportDone with
// the budget that is left. Everything that ticks returned, minus that, is the
// fuel the call used: a figure without a clock, equal for equal calls on fresh
// instances.
//
// A second global holds what is left of the stack, in bytes. Each function that
// calls others takes its frame from it on entry, keeps the result in a local,
// and writes that back before each call. So there is nothing to do where a
// function ends, however it does: its caller has in its own local what is left.
// Where it is below zero the module calls ImportOverflow. A function's frame is
// estimated from above: it counts the values that may be alive across a call, and
// those for which there may be no register (see frame.go). A function that calls none of the module's
// isn't accounted for when its frame has at most 64 KiB. The depth
// at which a recursion ends is a property of the module, as its fuel is.
//
// An import named by Options.Guard is preceded by a guard, an import that is
// injected: whatever named the original now names a function that calls the
// guard with the same parameters first. It is for imports whose costs the host
// can't bound where they are implemented. Guards and these functions are not
// metered: the guest pays for the call as if there were none.
//
// One unit of cost stands for one simple instruction, about 0.3 ns of native
// code. What can take longer is weighted (see opcodes.go), such that a million
// units take 0.1 to 3 ms, and 20 ms where a guest does its best to miss all
// caches. Go guests pay for much that they don't execute: theirs take 0.01 ms.
//
// # Guarantees
//
//   - Whatever the bytes: an *Error, or a module that wazero accepts if it
//     accepts the original, and that then computes the same. It never panics
//     and is linear in the size of its input.
//   - A guest can't name what is injected, nor a guarded import itself: every
//     index is checked against the original's counts and then led to what stands
//     for it, and the names are reserved. An original that is not
//     valid does not become valid with another meaning. What is injected leaves
//     the operand stack as it found it.
//   - The frames of all functions that wait for another to return take no more
//     than Limits.MaxStack of the engine's stack.
//   - Between two checks at most one region is run, once, plus the bulk
//     operation at hand. Regions are bounded by the size of a body.
//   - Equal input gives equal output.
//
// With Options.State the state of an instance is the host's to read and to set: see
// state.go.
//
// For arm64, where wazero 1.12.0 compiles integer remainders wrongly, none is left: see
// rem.go. That costs one multiplication and one subtraction for each, and the choice of
// another divisor where they are signed.
//
// It also drops custom sections other than function names, merges data
// segments (a Go module has tens of thousands), and replaces the start section
// by the export StartExport, which the host has to call first.
//
// # Concurrency
//
// The package has no state; Rewrite may be called by any number of goroutines.
//
// # Limits
//
// Core WebAssembly 2.0 is understood: multi-value, bulk memory, reference
// types, sign extension, saturating conversions, SIMD. Everything else is
// refused. Types are checked by the engine that compiles the result, not here. wazero
// 1.12 itself must never see a module as it came: it misreads opcodes and alignments that
// are encoded in more than one byte, and allocates whatever a vector or a name section
// claims to hold, so that 35 bytes end the process.
// Time inside imported functions is the host's to bound, and to charge for.
// Frames are estimated from above for wazero 1.12, and held to its real ones on
// amd64 and arm64 by tests. What replaces remainders for arm64 (Options.Arch) counts, so
// that a recursion with remainders in it may end a little earlier there; fuel is the same
// until then.
package meter
