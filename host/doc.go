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
//     SetPush change what they do meanwhile. Run also follows the plugin files.
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
//   - A plugin file takes effect while Run goes on: it is taken when it has
//     stayed the same for a moment and is whole, loaded beside what is in use,
//     tried on an empty directory, and put in its place between two refreshes.
//     A snapshot holds what one version of each module found, in all roots. A
//     file whose new content can't be used, or waits for Approve, leaves the
//     version before it in use, and its state says so; one that somebody else
//     could have written is not used at all.
//   - No native resolver stands in for a module that fails: what sandboxed code
//     didn't find isn't in the snapshot.
//
// # Concurrency
//
// All methods may be called from any goroutine. One refresh goes on at a time;
// others wait for their turn. Modules are loaded in a turn of their own, so that
// refreshes go on meanwhile. No file is read or written under a lock that a
// reader of the state needs.
//
// # Limits
//
// SetRoots and Reconfigure interrupt modules that run, which then run anew.
//
// Refresh is no barrier for plugin files: they have a pace of their own. Load
// and Reconfigure take them as they are at that moment, and try nothing on an
// empty directory. Which of several files of one name is used is decided by
// their order, so that a start finds what was there before; but what a version
// that was replaced by a broken one found is gone with the process. A new
// version that fails only where there is something to find takes the old one's
// place, and is a failing plugin then.
package host
