// Package meter rewrites a WebAssembly module so that its execution can be counted and
// stopped, and refuses modules that would be too costly to compile or to instantiate.
//
// # How it works
//
// A mutable i64 global, the budget, is appended to the module. Each function entry and each
// loop header subtracts from it the cost of its region: the instructions whose innermost
// enclosing loop it is (or the function's body, outside loops). Within a region control only
// goes forward, so the amount subtracted at its head covers whatever runs of it; branches
// that are not taken are paid for, too. Large regions are paid for in parts (see region.go).
// A jump to the head of a loop that dispatches on a local, which is how Go's compiler jumps,
// is redirected to its target if that is forward: it is neither charged nor checked, and
// faster than before (see thread.go). Bulk operations are paid for by their size before they
// begin.
//
// If the budget would be below zero at a head, the module calls the import ImportTick, which
// returns an amount to add to the budget, or traps, and then tries again. So nothing runs
// unpaid except parts and bulk operations, which are paid for at the next head. The budget
// begins at zero, so a fresh instance calls ImportTick first.
//
// A call of an export named in Options.Wrap ends with a call of ImportDone with the remaining
// budget. The sum that ticks returned, minus that, is the fuel that the call used: a figure
// without a clock, equal for equal calls on fresh instances.
//
// A second global holds the remaining stack, in bytes. Each function that calls others
// subtracts its frame from it on entry, keeps the result in a local, and writes that back
// before each call. So nothing needs to be done when a function ends, however it does: its
// caller has its own value in a local. If the value is below zero, the module calls
// ImportOverflow. A function's frame is overestimated: it counts the values that may be alive
// across a call, and those for which there may be no register (see frame.go). A function that
// calls none of the module's isn't counted if its frame has at most 64 KiB. The depth at
// which a recursion ends is a property of the module, as its fuel is.
//
// An import named by Options.Guard gets a guard, which is another import: everything that
// named the original now names a function that first calls the guard with the same
// parameters. It is for imports whose costs the host can't bound where they are implemented.
// Guards and these functions are not metered: the guest pays for the call as if there were
// none.
//
// One unit of cost stands for one simple instruction, about 0.3 ns of native code. Slower
// ones are weighted (see opcodes.go), so that a million units take 0.1 to 3 ms, and 20 ms if
// a guest does its best to miss all caches. Go guests pay for much that they don't execute:
// theirs take 0.01 ms.
//
// # Guarantees
//
//   - Any input yields an *Error, or a module that wazero accepts if it accepts the original,
//     and that then computes the same. Rewrite never panics and is linear in the size of its
//     input.
//   - A guest can name neither what is injected nor a guarded import: every index is checked
//     against the original's counts and then mapped to its replacement, and the names are
//     reserved. An invalid original doesn't become valid with another meaning. Injected code
//     leaves the operand stack as it found it.
//   - The frames of all functions that wait for another to return take no more than
//     Limits.MaxStack of the engine's stack.
//   - Between two checks at most one region runs, once, plus one bulk operation. Regions are
//     bounded by the size of a body.
//   - Equal input gives equal output.
//
// With Options.State the host can read and set the state of an instance: see state.go.
//
// wazero 1.12.0 compiles integer remainders wrongly for arm64, so for arm64 all of them are
// replaced: see rem.go. That costs one multiplication and one subtraction for each, and the
// choice of another divisor if they are signed.
//
// The package also drops custom sections other than function names, merges data segments (a
// Go module has tens of thousands), and replaces the start section by the export StartExport,
// which the host has to call first.
//
// # Concurrency
//
// The package has no state; Rewrite may be called by any number of goroutines.
//
// # Limits
//
// It supports core WebAssembly 2.0: multi-value, bulk memory, reference types, sign extension,
// saturating conversions, SIMD. Everything else is refused. The engine that compiles the result
// checks types; this package doesn't. wazero 1.12 itself must never see an original module: it
// misreads opcodes and alignments that are encoded in more than one byte, and allocates whatever
// a vector or a name section claims to hold, so that 35 bytes end the process. The host has to
// bound and charge for time inside imported functions. Frames are overestimated for wazero 1.12,
// and tests on amd64 and arm64 compare them with its real ones. The replacements of remainders
// for arm64 (Options.Arch) count, so a recursion with remainders in it may end a little earlier
// there; fuel is the same until then.
package meter
