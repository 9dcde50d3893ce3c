// Package chaos has tests only: they run the real agent and the real hub, break
// things around them, and want them to heal by themselves.
//
// # What holds after each of them
//
//   - What the hub has equals what `agent resolve` finds in the same places
//     with an empty memory: ids, states, hashes, and bodies that fit them.
//   - Versions that were stored only rise, and no push but the first of a
//     connection brought what was there already.
//   - While something is broken, `agent status` says so.
//
// The agents' safety re-check is an hour away, so whatever heals, heals because
// the agent noticed.
//
// # Limits
//
// A seed repeats the edits, not the timing. The tests need Linux (/proc,
// inotify), take about a minute, and are left out of `go test -short`. With the
// race detector and WAYMARK_LONG set the programs have it too, which takes ten
// minutes. The clock of a machine isn't theirs to set: files from the past and
// the future stand for a clock that jumps, and Go's timers don't know the wall
// clock.
package chaos
