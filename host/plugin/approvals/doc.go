// Package approvals records which modules the operator has allowed to run, and says which
// ones must wait for the operator's approval.
//
// The first drop of a module needs no approval: by putting the file there the operator has
// approved it. What a changed module may do without asking is bounded by what was last
// allowed, see [Store.Judge]: it may not read more, and it may not take over secrets that
// were granted to another file.
//
// # Guarantees
//
//   - The records are kept in one file of mode 0600, which is replaced as a whole. Several
//     agents may share it: a change is applied to the current file, under a lock.
//   - A file that can't be read or trusted fails closed: every module waits, now and after
//     restarts, until it is approved or the file is removed. An untrusted file is kept beside
//     it.
//   - Patterns are compared conservatively: one that may cover more than before counts as
//     covering more.
//
// # Concurrency and limits
//
// A Store may be used by any number of goroutines; only Open and Save touch files. Anybody
// who can write to the user's own files can approve.
package approvals
