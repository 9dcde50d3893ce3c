// Package postgres is the hub's store in PostgreSQL, for hubs that are more
// than one, and for operators who have a PostgreSQL anyway.
//
// # Guarantees
//
//   - What is acknowledged survives a crash of the hub and of the database
//     server, as long as the server's synchronous_commit isn't off.
//   - Revisions become visible in their order and without exception: a push
//     takes its revision under a lock that is held until its transaction has
//     ended, and as the last thing it does. A sequence would be faster by
//     little, and would let a reader see revision 10 before 9. Numbers that
//     end in a rollback are used again.
//   - Several hubs may share a database. They hear of each other's pushes by
//     NOTIFY, which is a wake-up and nothing else: what is new is read from
//     the tables, and read anew whenever listening had been interrupted.
//   - Deadlocks, serialization failures and lost connections are tried again
//     for a few seconds. Of a push whose commit was not answered it is found
//     out whether it is stored.
//   - A database or schema that holds other tables, was written by a newer
//     hub, or isn't UTF-8 is refused by Open with one clear error and not
//     changed. Hubs that start at once migrate one after the other.
//
// # Concurrency
//
// A push locks its agent's row first, then the payloads it refers to, then
// the revision; nobody who holds the revision waits for anything else. All
// reads go without locks.
//
// # Limits
//
// PostgreSQL 13 or newer (tested with 15), reached directly: LISTEN and the
// lock for migrations need a session, which a pooler in transaction mode
// takes away. All hubs of a database must be of one version: stop all, then
// start the newer ones. Where a failover or a restored backup loses
// acknowledged pushes, their revisions are used again; readers whose revision
// is above the newest notice (Store.Wait), others may miss one, so fail over
// to synchronous replicas. Hubs' clocks should agree within seconds: they
// give history its times.
package postgres
