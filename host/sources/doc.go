// Package sources keeps the list of directories and files that the user added
// to what is looked at: which there are, which of them survive a restart, and
// which a request may add.
//
// # Canonical paths
//
// A source is known by one path: "~" replaced, absolute, clean, and links
// resolved as far as the path exists. What doesn't exist yet is accepted, to be
// waited for: its existing part is resolved, and the rest is appended. A
// dangling link counts as the place that it points to.
//
// Links that lie in the working directory are left in the path: whoever fills
// that directory made them, and what he can write doesn't decide where a source
// is. They are followed anew at each opening, and lead neither out of the
// directory nor over the secret list (see vfs.RootOptions.Within); Roots returns
// them for whoever opens. A source that was added before the working directory was
// known, or in another one, is bound as well: the list keeps the path that was
// asked for, and the working directory that this led through.
//
// # Who may add what
//
// What comes from the operator (flags) is trusted and may lie anywhere. A
// request over HTTP may only add what lies, with its links resolved, in the
// home directory, in ~/.waymark, ~/.coder or ~/.claude wherever these links
// lead, or in the working directory. A place of these that can't be resolved
// allows nothing; neither does one that a link of the working directory leads
// out of it, nor the top of the file system, which would allow everything.
//
// Links change. So being on the list means nothing when a source is opened:
// ask Allowed each time, and AllowedAt about what was opened in the end.
//
// # Guarantees
//
//   - A file of sources is replaced as a whole, after it has reached the disk.
//     Two agents that share it lose nothing of each other's.
//   - A file that can't be read is moved aside, which is reported; it is never
//     overwritten.
//   - A change that can't be persisted isn't made.
//
// # Concurrency
//
// A List may be used by any number of goroutines. Readers take no lock; changes
// wait for each other, and for the other agent's if there is one.
//
// # Limits
//
// At most Options.Max sources, each with a path of at most MaxPath bytes.
package sources
