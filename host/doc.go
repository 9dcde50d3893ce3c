// Package host is Waymark's engine. It opens roots, watches them, runs the resolvers of the
// modules in its catalog on them, publishes snapshots of the results and pushes those to a
// peer. The agent and the harness are built on it. They take its options, and a few types,
// from the packages below it.
//
// # Life of a Host
//
//  1. New checks the options and opens the roots that must exist.
//  2. Load fills the catalog of modules; see package plugin. A module that can't be used
//     becomes a plugin state, never an error. A module that an earlier process has loaded is
//     loaded again only when no memo has the answer.
//  3. Refresh resolves once and publishes. Run does so whenever something changes, until its
//     context ends, and pushes. SetRoots, Reconfigure and SetPush change settings while Run
//     is active. Run also follows the module files.
//  4. Close waits for work in progress, saves the memos and frees everything. It may be
//     called at any time, and more than once.
//
// # Guarantees
//
//   - A snapshot is published whole, under a rising version, and only when something changed.
//     A canceled resolve publishes nothing. Package snapshot says what a version is for. A
//     resolver that fails raises the version once, and not when it is retried, rests, or
//     fails with another message. A root that can't be read raises it once, and is reported
//     in SnapshotError and Status.
//   - Refresh is a barrier: it sees everything that was done before the call. Callers that
//     arrive during a refresh share the next one.
//   - After any sequence of edits, and once nothing is postponed, the incremental result
//     equals that of a clean start. Events only say where to look: staleness is computed from
//     traces, everything is rechecked periodically, and where files can't be watched they are
//     polled and the snapshot says so.
//   - Watches only decide which part of a root is looked at first. The paths of an event
//     decide what is checked, run and published at once. The rest of each affected root is
//     checked 100 ms after the last event, or within a second if events keep arriving. If a
//     watcher names no paths (it has lost events, a watch was added, there are too many),
//     everything is checked at once, as in a Refresh.
//   - Results are published as soon as they are ready. The built-in module runs first, to its
//     end; dropped-in modules together have 100 ms, and 2 s at the start. Modules that take
//     longer keep their previous results, marked stale, and run when there is nothing else to
//     do, on half of the processors. A Refresh waits for all of them. A dropped-in module
//     that has run for 30 s within two minutes counts as failing and rests: 30 s at first,
//     then longer each time.
//   - A snapshot holds the results of one version of each module, in all roots. Run picks up
//     changed module files as package plugin says; a new version replaces the old one between
//     two refreshes.
//   - In a home directory (RootSpec.Scope), the built-in resolvers see only the places for
//     users, and dropped-in modules see nothing. The host, not the resolver, records which
//     project in a root (RootSpec.Children) a find belongs to.
//   - No native resolver stands in for a module that fails: what sandboxed code didn't find
//     isn't in the snapshot.
//
// # Concurrency
//
// All methods may be called from any goroutine. One refresh runs at a time; others wait for
// h.turn. The catalog loads modules under a lock of its own, so that refreshes continue
// meanwhile. Where both locks are needed, the catalog's is taken first. No file is read or
// written under a lock that a reader of the state needs.
//
// # Limits
//
// A failure counts as the same failure while what the resolver had observed still holds. So
// an error that changes for another reason shows only in Status and in the log. A resolver
// that fails intermittently on files of which one is unstable raises the version at each
// change.
//
// SetRoots and Reconfigure interrupt running modules, which then run anew.
//
// Refresh is no barrier for module files, except for those that Load or Reconfigure has read
// before it.
package host
