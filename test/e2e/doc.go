// Package e2e runs the real agent and hub and observes them from outside, for measurements
// (test/latency) and for its own tests, which break things and see that both recover.
//
// An [Agent] and a [HubProcess] are processes of programs that [Build] or make has built. A
// [Hub] is a hub within this process, on a socket and on HTTP, that records every push when
// it is stored. Nothing is polled, so observing an agent costs the agent nothing.
//
// # Guarantees
//
//   - Every process is started with a context and dies with it. Waiting for one
//     takes a context too.
//   - A process sees nothing of the user's: home, state, cache, configuration
//     and sockets are those of its [Home].
//
// # Concurrency
//
// All methods may be called from any goroutine, but each process has one owner that starts
// and ends it.
//
// # What holds after each test that breaks something
//
//   - The hub's content equals what `agent resolve` finds in the same places without any cache: ids,
//     states, hashes, and matching bodies.
//   - Stored versions only rise, and no push except the first of a connection repeats what was there.
//   - While something is broken, `agent status` says so.
//
// The agents' periodic re-check is an hour away, so recovery is always due to a change that
// the agent has noticed. A seed repeats the edits, not the timing. These tests require Linux
// (/proc, inotify). With the race detector and WAYMARK_LONG the programs use it, too, which takes
// ten minutes. The tests can't set the machine's clock: files with past and future times replace
// clock jumps, and Go's timers don't depend on the wall clock.
package e2e
