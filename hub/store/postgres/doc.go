// Package postgres is the hub's store in PostgreSQL, for deployments with several hubs, and
// for operators who run PostgreSQL anyway.
//
// # Guarantees
//
//   - An acknowledged push survives a crash of the hub and of the database
//     server, unless the server's synchronous_commit is off.
//   - Revisions become visible in order, without exception: a push takes its
//     revision last, under a lock that it holds until its transaction has
//     ended. A sequence would be slightly faster, but a reader could see
//     revision 10 before 9. Numbers of rolled-back transactions are reused.
//   - Several hubs may share a database. They learn of each other's pushes by
//     NOTIFY, which only wakes them up: what is new is read from the tables,
//     and read again after every interruption of listening.
//   - Deadlocks, serialization failures and lost connections are retried for a
//     few seconds. If a commit isn't answered, the store finds out whether the
//     push is stored.
//   - Open refuses a database or schema that holds other tables, was written by
//     a newer hub, or isn't UTF-8, with one clear error and without changing
//     it. Hubs that start at the same time migrate one after the other.
//
// # Concurrency
//
// A push locks its agent's row first, then the payloads it refers to, then the revision.
// The holder of the revision waits for nothing else. Reads take no locks.
//
// # Limits
//
// PostgreSQL 13 or newer (tested with 15), connected to directly: LISTEN and the lock for
// migrations need a session, which a pooler in transaction mode doesn't keep. All hubs of a
// database must have the same version: stop all of them, then start the newer ones. When a
// failover or a restored backup loses acknowledged pushes, their revisions are reused.
// Readers whose revision is above the newest notice this (Store.Wait); others may miss one,
// so fail over to synchronous replicas. The clocks of the hubs should agree within seconds,
// because they set the times in the history.
package postgres
