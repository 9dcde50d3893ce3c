// Package host is the engine of Waymark: it opens roots, watches them, runs the
// resolvers of the modules in its catalog on them, publishes snapshots of what
// they find and pushes those. The agent and the harness are built on it; they
// take its options, and a few types, from the packages below it.
//
// # Life of a Host
//
//  1. New checks the options and opens the roots that must exist.
//  2. Load fills the catalog of modules, see package plugin. A module that
//     can't be used becomes a plugin state, never an error. One that an earlier
//     process has loaded is loaded again only when a memo doesn't answer.
//  3. Refresh resolves once and publishes; Run does so whenever something
//     changes, until its context ends, and pushes. SetRoots, Reconfigure and
//     SetPush change what they do meanwhile. Run also follows the module files.
//  4. Close waits for what is going on, keeps the memos and frees everything.
//     It may come at any time, and twice.
//
// # Guarantees
//
//   - A snapshot is published whole, under a rising version, only when something
//     changed; a resolve that was canceled publishes nothing. What a version is
//     for is said in package snapshot: a resolver that fails raises it once, and
//     not when it is tried again, rests, or fails in other words. A root that can't
//     be read raises it once, and is told in SnapshotError and Status.
//   - Refresh is a barrier: it sees everything that was done before the call.
//     Callers that come while one is going on share the next.
//   - After any sequence of edits, and once nothing is postponed, what was found
//     incrementally is what a clean start would find. Events only say where to look: staleness is computed
//     from traces, everything is re-checked at a slow pace, and where files
//     can't be watched it is polled and the snapshot says so.
//   - Watches are trusted for one thing, and for a moment: which part of a root to
//     look at first. The paths of an event decide what is checked, run and published
//     at once, and the rest of each root that had one is checked 100 ms after the last
//     of them, within a second while there are more. Where a watcher names no paths
//     (it has lost events, a watch was added, there are too many), all is checked at
//     once, as in a Refresh.
//   - What is ready is published without what isn't: the built-in module is run first and
//     to its end, and dropped-in ones are waited for 100 ms together, 2 s at the start.
//     What they had found is there meanwhile, marked stale, and they are run when nothing
//     else is to be done, on half of the processors. A Refresh waits for all. A dropped-in
//     module that has run for 30 s in two minutes rests: it is failing, for 30 s, then
//     longer each time.
//   - A snapshot holds what one version of each module found, in all roots. A
//     module file takes effect while Run goes on, as package plugin says, and its
//     new version takes the place of the old one between two refreshes.
//   - Of a home directory (RootSpec.Scope) the built-in resolvers see the places for users
//     and nothing else, and dropped-in modules nothing at all. What is found in projects in
//     a root (RootSpec.Children) says which, by the host's word and not by a resolver's.
//   - No native resolver stands in for a module that fails: what sandboxed code
//     didn't find isn't in the snapshot.
//
// # Concurrency
//
// All methods may be called from any goroutine. One refresh goes on at a time;
// others wait for their turn. Modules are loaded by the catalog, in a turn of
// its own, so that refreshes go on meanwhile. Where both turns are needed, the
// catalog's comes first. No file is read or written under a lock that a reader
// of the state needs.
//
// # Limits
//
// A failure is taken for the one before as long as what the resolver had observed
// then still holds. So an error that changes for another reason is seen in Status
// and in the log only, and a resolver that fails on some of its tries, with the same
// files and one of them unstable, raises the version at each change.
//
// SetRoots and Reconfigure interrupt modules that run, which then run anew.
//
// Refresh is no barrier for module files, but for those that Load or Reconfigure
// have taken before it.
package host
