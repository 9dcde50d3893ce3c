// Package plan decides what a push writes: which rows are new, changed or gone, what the
// new head says, and which old revisions are dropped. It is the part of a push that is
// independent of the database, written once so that the two stores can't decide
// differently.
//
// # How a push works
//
// Prepare checks and hashes everything before any lock is taken. Within the transaction the
// driver reads a State, Decide makes a Plan from it, and the driver writes the Plan. A
// transaction that runs again reads a new State and decides again; Prepared doesn't change.
//
// # Concurrency
//
// Nothing here is shared. The caller's locks keep a State valid until the Plan is written.
package plan
