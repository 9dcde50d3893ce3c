// Package e2e runs the real agent and hub and observes them from outside, for measurements
// (test/latency) and for tests that break things (test/chaos).
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
package e2e
