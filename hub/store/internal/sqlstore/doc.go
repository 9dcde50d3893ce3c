// Package sqlstore is what the hub's stores have in common: everything that
// is the same SQL in SQLite and in PostgreSQL, which is all but the push
// itself, opening, and waking up who waits. Written once, it can't differ.
//
// # How
//
// A driver gives a Database and gets a Core, which has most methods of
// store.Store. Both databases have the same tables and columns, take $1 for
// parameters, and keep times as microseconds since 1970 and JSON as text, so
// that values come back the same.
//
// # What is in the tables
//
// A row of snapshots is one revision of one agent. Within the agent it also
// has a step, which rows of resources refer to: a row holds from step since to
// the one before until (NULL: it holds now), so that a revision costs what it
// changed. Rows don't refer to revisions because those are store-wide: taking
// one locks out all other pushes, and is the last thing that a push does.
// Payloads are in bodies, once per SHA-256.
//
// A pin has rows of its own in pin_resources, copies of those of its agent but
// for the payloads. Row and pin carry no history: pins.changed is the revision
// of the last change, and what was deleted is in removals.
//
// # Concurrency
//
// Whoever changes pins locks the agent first, then the pin, and takes the
// revision last, as a push does.
//
// The functions that Core gives to a Database may be run again when the
// transaction was rolled back, or when nobody knows whether it was: they all
// have the same effect twice as once.
package sqlstore
