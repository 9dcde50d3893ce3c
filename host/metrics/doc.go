// Package metrics counts what the agent does, for Prometheus.
//
// The agent reports to a Metrics what happened; Handler serves the result.
// Nothing here measures by itself, but for the Go runtime and the process.
//
// # Guarantees
//
//   - Names of files, contents and tokens are no labels. The words that are
//     come from modules, peers and the engine; what isn't a short word, and
//     what is one too many, is counted as "other". So the number of series is
//     bounded, whatever a workspace holds.
//   - Everything is in a registry of its own; the global one isn't touched.
//
// # Concurrency
//
// All methods may be called from any goroutine.
//
// # Limits
//
// Counters begin anew with the process. Gauges that follow a snapshot are set
// one after the other: a scrape in between sees some of the new ones.
package metrics
