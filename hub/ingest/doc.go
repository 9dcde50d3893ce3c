// Package ingest serves the calls of agents: the two DRPC services by which they push. It checks
// each push by the rules in wire/rules, hands it to the agent's session in package fleet, and
// says how each call ended.
//
// waymark.v1.Context transmits complete snapshots as changes against what is stored. Of
// coder.agent.v2.Agent, only PushContextState is implemented; its other methods return that they
// are unimplemented.
//
// A Service is safe for concurrent use and starts nothing. Between two calls it keeps nothing of
// a push in memory.
package ingest
