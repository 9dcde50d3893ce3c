// Package sqlstore is what the hub's stores have in common: all SQL that is the same in
// SQLite and in PostgreSQL, and what a push writes, which is independent of the database. That
// is everything except executing the push, opening a database, and waking up waiting readers. Because it is written once, the two stores can't differ in
// it.
//
// # How
//
// A driver provides a Database and gets a Core, which implements most methods of
// store.Store. Both databases have the same tables and columns, and take $1 for parameters.
// They keep times as microseconds since 1970 and JSON as text, so that values are read back
// the same.
//
// # How a push works
//
// [Prepare] checks and hashes everything before any lock is taken. Within the transaction the
// driver reads a [State], [Decide] makes a [Plan] from it, and the driver writes the Plan:
// which rows are new, changed or gone, what the new head says, and which old revisions are
// dropped. A transaction that runs again reads a new State and decides again; [Prepared]
// doesn't change. The driver's locks keep a State valid until the Plan is written.
//
// # What is in the tables
//
// A row of snapshots is one revision of one agent. Within the agent it also has a step, to
// which the rows of resources refer: a row is valid from step since until just before step
// until (NULL: it still is). So a revision costs only what it changed. Rows don't refer to
// revisions, which the database gives out when the snapshot is inserted. Payloads are in bodies, once per SHA-256.
//
// A pin has its own rows in pin_resources, which are copies of its agent's rows without the
// payloads. Neither the row nor the pin has a history: pins.changed is the revision of the
// last change. What readers hear of is in events.
//
// # Concurrency
//
// Code that changes pins locks the agent first, then the pin, as a push does. In a
// transaction the agent's lock comes before everything that is written.
//
// The functions that Core gives to a Database are idempotent: they may run again after a
// transaction was rolled back, or when it is unknown whether it was.
package sqlstore
