// Package postgres is the hub's store in PostgreSQL, for deployments with several hubs, and
// for operators who run PostgreSQL anyway.
//
// # Guarantees
//
//   - An acknowledged push survives a crash of the hub and of the database
//     server, unless the server's synchronous_commit is off.
//   - Pushes of different agents don't wait for each other. No row is updated by two agents'
//     pushes, and a push's transaction has no NOTIFY, which takes a lock of the whole database
//     until the commit is on disk.
//   - Events are ordered by the ids of their transactions. What is below all transactions that
//     are under way is settled. That holds for the whole server: a writing transaction in any of
//     its databases keeps later events from being settled, but not from being read.
//   - Several hubs may share a database. They learn of each other's pushes by
//     NOTIFY, which only wakes them up: what is new is read from the tables,
//     at the latest after two seconds.
//   - Pushes that come at the same time are stored in groups, of 64 or 512 KiB and of different
//     agents, which share a commit; so are beginnings of sessions, and tokens are looked up
//     together. Nobody waits for a group to fill. What is refused doesn't disturb the others of
//     its group.
//   - Deadlocks, serialization failures and lost connections are retried for a
//     few seconds. If a commit isn't answered, the store finds out which of its
//     pushes are stored.
//   - Open refuses a database or schema that holds other tables, was written by
//     a newer hub, or isn't UTF-8, with one clear error and without changing
//     it. Hubs that start at the same time migrate one after the other.
//
// # Concurrency
//
// A group locks its agents first, all in one order, then the payloads it refers to. The
// agents' locks are advisory ones, taken before the first write: so transactions that wait for one have no id
// yet, and an agent's events are in the order of its pushes. Reads take no locks.
//
// # Limits
//
// PostgreSQL 13 or newer (tested with 15), connected to directly: LISTEN and the lock for
// migrations need a session, which a pooler in transaction mode doesn't keep. All hubs of a
// database must have the same version: stop all of them, then start the newer ones. When a
// failover or a restored backup loses acknowledged pushes, their revisions are reused. So
// fail over to synchronous replicas. Readers that follow begin anew when another server, or
// another timeline of one, has the database. A crash of the server may let the id of a
// transaction that was rolled back just before come again, and a reader that had read up to
// there then misses the event of a push that gets it. The clocks of the hubs should agree within seconds,
// because they set the times in the history.
package postgres
