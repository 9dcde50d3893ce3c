// Package host is the engine of Waymark: it loads resolver modules, opens
// roots, watches them, resolves, publishes snapshots and pushes them. The agent
// and the harness use it and nothing below it.
//
// # Life of a Host
//
//  1. New checks the options and opens the roots that must exist.
//  2. Load finds out what the built-in module and those in plugin directories
//     can do. A module that can't be used becomes a plugin state, never an
//     error. One that an earlier process has loaded is loaded again only when
//     a memo doesn't answer.
//  3. Refresh resolves once and publishes; Run does so whenever something
//     changes, until its context ends, and pushes. SetRoots, Reconfigure and
//     SetPush change what they do meanwhile.
//  4. Close waits for what is going on, keeps the memos and frees everything.
//     It may come at any time, and twice.
//
// # Guarantees
//
//   - A snapshot is published whole, under a rising version, only when something
//     changed; a resolve that was canceled publishes nothing.
//   - Refresh is a barrier: it sees everything that was done before the call.
//     Callers that come while one is going on share the next.
//   - After any sequence of edits, what was found incrementally is what a clean
//     start would find. Events only say where to look: staleness is computed
//     from traces, everything is re-checked at a slow pace, and where files
//     can't be watched it is polled and the snapshot says so.
//   - No native resolver stands in for a module that fails: what sandboxed code
//     didn't find isn't in the snapshot.
//
// # Concurrency
//
// All methods may be called from any goroutine. One refresh goes on at a time;
// others wait for their turn. No file is read or written under a lock that a
// reader of the state needs.
//
// # Limits
//
// Plugin directories are read by Load and Reconfigure only.
package host
