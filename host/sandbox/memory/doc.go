// Package memory gives the linear memories of one instance their own mappings,
// with exact accounts.
//
// # Guarantees
//
//   - A memory's whole range is reserved at once and made usable as it grows:
//     growing never copies, instantiating touches nothing, and an access beyond
//     the current size faults instead of reaching something else.
//   - Current and Peak are exact, in bytes of linear memory, over all memories
//     of the instance: the module's and what blocks are made of.
//   - A memory that begins with an Image holds it, and shares with others what
//     nobody has written. Nobody sees what another writes.
//   - Close gives everything back to the system at once, or to the image, for an
//     instance to come; see Image.Reuse. None of it is ever garbage that waits for a
//     collection. What is used again is what a new memory would be: pages that the
//     system has copied for an instance, which are all that it can have written, are
//     written anew or forgotten, and where the system doesn't tell which these are
//     nothing is used again.
//
// # Concurrency
//
// All methods may be called at any time by any goroutine, but for Close: see
// there.
//
// # Limits
//
// Accounts are of sizes, not of pages touched. Of a memory that is used again, what
// the image has and, of others, what the instance before has used is usable from
// the beginning: there an access beyond the size doesn't fault. A memory takes two mappings, and
// one or two more for each part of an image that isn't zero, of which there are
// as many as are 8 KiB apart; Linux allows a process 65,530. Images are for Linux.
// The file of one counts among what the process has in memory, unless it is the program's. wazero has no way to report that a
// first allocation failed, so Allocate's memory panics with an *Error then;
// growing is refused in the usual way.
package memory
