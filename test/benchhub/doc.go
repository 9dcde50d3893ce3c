// Package benchhub measures a hub with many agents: how many pushes it takes per second,
// how long a push takes, how much memory an agent costs, and how long and how much work it
// takes until all agents are current again after a restart of the hub, or have joined several
// hubs at once, whose health is probed meanwhile.
//
// The hub runs in the test's process and the agents in another (this package's test binary
// again), so that their memory can be told apart. They speak waymark.v1 over WebSockets, as
// with a remote hub, but with a client that lets the test say what to push and when. Both
// share one machine, so the figures are those of hub and agents together.
//
// make bench-hub runs a thousand agents, make bench-fleet a storm of more at several hubs. Without flags the test is small and only shows
// that everything works.
package benchhub
