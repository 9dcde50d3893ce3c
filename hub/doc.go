// Package hub is Waymark's control plane: it takes snapshots from agents over
// DRPC, keeps the newest of each in a store, and shows them through an HTTP
// API. Command hub serves one; the agent embeds one.
//
// Two DRPC services are served on every connection: waymark.v1.Context, which
// carries all of a snapshot, and coder.agent.v2.Agent, of which only
// PushContextState is implemented, so that Coder's agents can push too.
//
// # Guarantees
//
//   - An agent is known by its token alone, per call; what it says about
//     itself is data. Reader tokens open the HTTP API and nothing else, agent
//     tokens the DRPC services and nothing else.
//   - A push is checked before anything is written, since a workspace isn't
//     trusted: the rules of Coder's server, in its order, for Coder's
//     protocol, and the same caps and a few more for ours. A refused push
//     changes nothing and doesn't end the connection.
//   - U+0000 is taken out of text before it is checked, so that all databases
//     hold the same; text that isn't UTF-8 is refused by the decoder.
//   - The first good push of a connection begins a session; from then on,
//     pushes of the agent's older connections are refused
//     (wire.CodeSuperseded).
//   - Neither payloads nor tokens are ever logged.
//
// # Concurrency
//
// A Hub is safe for concurrent use. Each connection has goroutines of its
// own; Close ends and awaits them all. Pushes of one agent are put in order
// by the store's transactions.
//
// # Limits
//
// DRPC itself knows no keep-alive: a peer that vanishes without a trace from
// a TCP connection stays "connected" until the kernel notices. One connection
// can make the hub hold one message (4 MiB), also before it has shown a
// token; Options.MaxConnections bounds how many there are.
package hub
