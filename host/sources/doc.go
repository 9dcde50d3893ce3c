// Package sources keeps the list of directories and files that the user added to what is
// looked at: which there are, which of them survive a restart, and which a request may add.
//
// # Canonical paths
//
// A source is known by one path: "~" replaced, absolute, clean, and links resolved as far as
// the path exists. A path that doesn't exist yet is accepted and waited for: its existing
// part is resolved, and the rest is appended. A dangling link counts as its target.
//
// Links in the working directory stay in the path. Whoever fills that directory made them,
// and must not decide where a source is. They are followed anew at each opening, and lead
// neither out of the directory nor to secrets (see vfs.RootOptions.Within); Roots returns the
// directories for that. The same holds for a source that was added before the working
// directory was known, or in another one: the list keeps the path as given, and the working
// directory on its way.
//
// # Who may add what
//
// Sources from the operator (flags) are trusted and may lie anywhere. A request over HTTP may
// only add what lies, with its links resolved, in the home directory, in ~/.waymark, ~/.coder
// or ~/.claude wherever these links lead, or in the working directory. A place that can't be
// resolved allows nothing. Neither does one that a link of the working directory leads out of
// it, nor the top of the file system, which would allow everything.
//
// Links change, so being on the list isn't enough to open a source: call Allowed each time,
// and AllowedAt with what was opened in the end.
//
// # Guarantees
//
//   - A file of sources is replaced as a whole, after it has reached the disk. Two agents
//     that share it lose nothing of each other's.
//   - A file that can't be read is moved aside, which is reported; it is never overwritten.
//   - A change that can't be persisted isn't made.
//
// # Concurrency
//
// A List may be used by any number of goroutines. Readers take no lock. Changes wait for each
// other, and for those of another agent.
//
// # Limits
//
// At most Options.Max sources, each with a path of at most MaxPath bytes.
package sources
