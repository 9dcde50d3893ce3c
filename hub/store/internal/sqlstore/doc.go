// Package sqlstore is what the hub's stores have in common: all SQL that is the same in
// SQLite and in PostgreSQL. That is everything except the push itself, opening a database,
// and waking up waiting readers. Because it is written once, the two stores can't differ in
// it.
//
// # How
//
// A driver provides a Database and gets a Core, which implements most methods of
// store.Store. Both databases have the same tables and columns, and take $1 for parameters.
// They keep times as microseconds since 1970 and JSON as text, so that values are read back
// the same.
//
// # What is in the tables
//
// A row of snapshots is one revision of one agent. Within the agent it also has a step, to
// which the rows of resources refer: a row is valid from step since until just before step
// until (NULL: it still is). So a revision costs only what it changed. Rows don't refer to
// revisions because those count store-wide: taking one locks out all other pushes, so a
// push does it last. Payloads are in bodies, once per SHA-256.
//
// A pin has its own rows in pin_resources, which are copies of its agent's rows without the
// payloads. Neither the row nor the pin has a history: pins.changed is the revision of the
// last change, and deletions are in removals.
//
// # Concurrency
//
// Code that changes pins locks the agent first, then the pin, and takes the revision last,
// as a push does.
//
// The functions that Core gives to a Database are idempotent: they may run again after a
// transaction was rolled back, or when it is unknown whether it was.
package sqlstore
