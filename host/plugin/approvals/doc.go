// Package approvals remembers which modules the operator has let run, and says
// which ones must wait until the operator says so again.
//
// The first drop of a module needs no approval: putting the file there was the
// operator's word. What a change of it may do without asking is bounded by what
// was let run last, see [Store.Judge]: it may not read more, and it may not
// take over secrets that were granted to another file.
//
// # Guarantees
//
//   - What is remembered is kept in one file of mode 0600, which is replaced as
//     a whole. Several agents may share it: a change is made to the file as it
//     is at that moment, under a lock.
//   - A file that can't be read or believed fails closed: every module waits,
//     now and after restarts, until it is approved or the file is removed. What
//     couldn't be believed is kept beside it.
//   - Patterns are compared cautiously: one that may cover more than before is
//     taken to do so.
//
// # Concurrency and limits
//
// A Store may be used by any number of goroutines; only Open and Save touch
// files. Whoever can write to the user's own files can approve.
package approvals
