// Package metrics counts what the agent does, for Prometheus.
//
// The agent reports events to a Metrics; Handler serves the result. Only the Go runtime and
// the process are measured here.
//
// # Guarantees
//
//   - Names of files, contents and tokens are no labels. Labels come from modules, peers and
//     the engine; anything but a short word, and words beyond a limit, count as "other". So
//     the number of series is bounded, whatever a workspace contains.
//   - Everything is in a separate registry; the global one isn't touched.
//
// # Concurrency
//
// All methods may be called from any goroutine.
//
// # Limits
//
// Counters restart with the process. Gauges that follow a snapshot are set one after the
// other: a scrape in between sees some of the new ones.
package metrics
