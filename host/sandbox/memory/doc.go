// Package memory gives the linear memories of one instance their own mappings, with exact
// accounts.
//
// # Guarantees
//
//   - A memory's whole range is reserved at once and made usable as it grows: growing never
//     copies, instantiating touches nothing, and an access beyond the current size faults
//     instead of reaching something else.
//   - Current and Peak are exact, in bytes of linear memory, over all memories of the
//     instance: the module's and those of blocks.
//   - A memory that starts from an Image shares unwritten pages with others. Nobody sees what
//     another writes.
//   - Close returns everything at once, to the system or to the image for a later instance;
//     see Image.Reuse. Nothing becomes garbage that waits for a collection. A reused memory
//     equals a new one: the pages that the system has copied for an instance, which are all
//     that it can have written, are rewritten or dropped. If the system doesn't report which
//     these are, nothing is reused.
//
// # Concurrency
//
// All methods may be called at any time by any goroutine, except Close: see there.
//
// # Limits
//
// Accounts are of sizes, not of pages touched. In a reused memory everything that the image
// has, or that the previous instance has used, is usable from the beginning: there an access
// beyond the size doesn't fault. A memory takes two mappings, and one or two more for each
// non-zero part of an image; parts are at least 8 KiB apart, and Linux allows a process
// 65,530 mappings. Images are for Linux only. The file of an image counts as memory of the
// process, unless it is the program's. wazero has no way to report that a first allocation
// failed, so Allocate's memory then panics with an *Error; growing is refused in the usual
// way.
package memory
