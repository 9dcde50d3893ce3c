// Package e2e runs the real agent and hub and looks at them from outside: for
// measurements (test/latency) and for tests that break things
// (test/chaos).
//
// An [Agent] and a [HubProcess] are processes of programs that [Build] has made,
// or make. A [Hub] is a hub within this process, on a socket and on HTTP, that
// records every push when it has been stored: nothing is polled, so what is seen
// of an agent costs the agent nothing.
//
// # Guarantees
//
//   - Every process is started with a context and dies with it; what waits for
//     one waits with a context.
//   - A process sees nothing of the user's: home, state, cache, configuration
//     and sockets are those of its [Home].
//
// # Concurrency
//
// All methods may be called from any goroutine, but each process has one owner
// that starts and ends it.
package e2e
