// Package benchhub measures a hub under many agents: how many pushes it takes
// per second, how long one takes, and what memory an agent costs, and how long and
// how much it takes until all agents are current again after it was restarted.
//
// The hub runs in the process of the test, the agents in another one (this
// package's test binary again), so that memory can be told apart. They speak
// waymark.v1 over WebSockets, as they do to a hub that is somewhere else, but
// with a client that pushes what it is told and when. Both share one machine:
// what is measured is hub and agents together.
//
// make bench-hub runs a thousand agents; without flags the test is a small
// one, which only shows that all of it works.
package benchhub
