// Package shared is the hub that the agents of a user share on a machine.
//
// Each agent has a [Hub]. One of them holds the hub: it holds a lock in the user's state
// directory, has the database open, and listens on a socket for agents and on a port for
// readers. Their addresses are in a file ([Find]). The other agents are clients and wait
// for the lock. The kernel releases the lock when its process ends, however it ends, and
// then one of the others takes over.
//
// Call New, Open, Run and Close in this order. Commands find the hubs of this machine by
// [Announce] and [Running], including those that no agent holds.
//
// # Guarantees
//
//   - There is only one holder at a time. After a holder has ended, there is a new one as soon as an
//     agent can't reach the hub and has opened the database, and at the latest after Options.Every.
//   - A new holder uses the same port if it is free.
//   - The loser of a simultaneous start is a client. Nothing fails for it.
//   - If a holder fails to serve, or a client as the next one does, that is logged and tried again,
//     by whichever agent is first.
//   - What a hub has acknowledged is in the database, so that the next holder has it.
//
// # Concurrency
//
// Open, Run and Close have one caller, in this order. Everything else may be called by any
// goroutine at any time.
//
// # Limits
//
// The state directory must be on a local file system, as SQLite requires. While a holder is
// stopped (SIGSTOP), nobody takes over, because it will continue some day.
package shared
