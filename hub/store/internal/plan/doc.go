// Package plan decides what a push writes: which rows are new, changed or
// gone, what the new head says, and which old revisions go. It is the part of
// a push that has nothing to do with a database, written once, so that two
// databases can't decide differently.
//
// # How a push goes
//
// Prepare checks and hashes everything, before any lock is taken. Within the
// transaction the driver reads a State, and Decide makes the Plan that the
// driver then writes. A transaction that is run again reads the State anew
// and decides anew; Prepared doesn't change.
//
// # Concurrency
//
// Nothing here is shared; the caller's locks make a State hold until it is
// written.
package plan
