// Package host is the engine of Waymark: it loads resolver modules, opens
// roots, resolves, publishes snapshots and pushes them. The agent and the
// harness use it and nothing below it.
//
// # Life of a Host
//
//  1. New checks the options and opens the roots that must exist.
//  2. Load loads the built-in module and those in plugin directories. A module
//     that can't be used becomes a plugin state, never an error.
//  3. Refresh resolves once and publishes; Run does so until its context ends,
//     and pushes.
//  4. Close waits for what is going on and frees everything. It may come at any
//     time, and twice.
//
// # Guarantees
//
//   - A snapshot is published whole, under a rising version, only when something
//     changed; a resolve that was canceled publishes nothing.
//   - No native resolver stands in for a module that fails: what sandboxed code
//     didn't find isn't in the snapshot.
//
// # Concurrency
//
// All methods may be called from any goroutine. One refresh goes on at a time;
// others wait for their turn.
//
// # Limits
//
// Changes are found by re-checking all traces every Options.Recheck, until
// file notifications are there.
package host
