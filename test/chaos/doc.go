// Package chaos tests that the real agent and hub recover by themselves when things around
// them break. It has only tests.
//
// # What holds after each test
//
//   - The hub's content equals what `agent resolve` finds in the same places without any cache: ids,
//     states, hashes, and matching bodies.
//   - Stored versions only rise, and no push except the first of a connection repeats what was there.
//   - While something is broken, `agent status` says so.
//
// The agents' periodic re-check is an hour away, so recovery is always due to a change that
// the agent has noticed.
//
// # Limits
//
// A seed repeats the edits, not the timing. The tests require Linux (/proc, inotify), take
// about a minute, and are skipped by `go test -short`. With the race detector and
// WAYMARK_LONG the programs use it, too, which takes ten minutes. The tests can't set the
// machine's clock: files with past and future times replace clock jumps, and Go's timers
// don't depend on the wall clock.
package chaos
