// Package shared is the hub that the agents of one user share on one machine.
//
// Each agent has a [Hub]. One of them holds the hub: it has a lock in the user's
// state directory, the database open, and listens, on a socket for agents and on
// a port for readers, both of which it writes down in a file ([Find]). The others
// are clients, and wait for the lock. It is the kernel that gives up the lock of
// a process that ends, however that ends, so one of them takes over then.
//
// The life of a Hub: New, Open, Run, Close. [Announce] and [Running] are for commands, which
// find the hubs of this machine by them, also those that no agent holds.
//
// # Guarantees
//
//   - There is one holder at a time. While agents run there is one again as soon
//     as one of them can't reach the hub and has opened the database, and at the
//     latest after Options.Every.
//   - The port stays the same from one holder to the next, if it is free.
//   - Who loses a simultaneous start is a client. Nothing fails for it.
//   - A client goes on when a holder, or it itself as the next one, can't serve:
//     that is logged and tried again, by whoever comes first.
//   - What a hub has acknowledged is in the database before that, so that the
//     next holder has it.
//
// # Concurrency
//
// Open, Run and Close have one caller, in this order. All else may be called by
// anybody at any time.
//
// # Limits
//
// The state directory must be on a local file system, as SQLite demands. While
// a holder is stopped (SIGSTOP) nobody takes over: it will go on one day.
package shared
