// Package hub is Waymark's control plane: it takes snapshots from agents over
// DRPC, keeps the newest of each in a store, and shows them through an HTTP
// API. Command hub serves one; the agent embeds one.
//
// Agents connect as package transport says: at the endpoint that Coder's server
// has for them, on the same HTTP port as everything else, and by plain DRPC on a
// socket. Two DRPC services are served on every connection: waymark.v1.Context,
// which carries all of a snapshot as a change against what is stored, and coder.agent.v2.Agent, of
// which only PushContextState is implemented, so that Coder's agents can push
// too. Its other methods answer that they are unimplemented.
//
// # Guarantees
//
//   - An agent is known by its token alone, which each call looks up; what it
//     says about itself is data. Reader tokens open the HTTP API and nothing
//     else, agent tokens the DRPC services and nothing else.
//   - A push is checked before anything is written, since a workspace isn't
//     trusted: the rules of Coder's server, in its order, for Coder's
//     protocol, and wider caps and a few more rules for ours. What a change comes
//     to is held to the same rules as everything at once. A refused push changes
//     nothing and doesn't end the connection.
//   - A push is stored whole or not at all, and a hash stands for a text
//     only where the same agent has brought that: to know a hash opens nothing,
//     nor does an answer tell whether somebody else has the text.
//   - U+0000 is taken out of text before it is checked, so that all databases
//     hold the same; text that isn't UTF-8 is refused by the decoder.
//   - An agent's connections have an order, given to them before a push can
//     be sent: at the WebSocket's handshake, or by the call Open. A push of a
//     connection is refused once a newer one has had a push accepted
//     (wire.CodeSuperseded), however late it arrives, so that nothing older
//     overwrites what is newer. An agent that says which run of it is on a
//     connection (Open) is told at once that another run has taken over, and
//     when that one is gone; see RATIONALE.md.
//   - Neither payloads nor tokens are ever logged, and metrics name nobody.
//   - A Server that has to stop answers what is under way, tells agents to
//     connect again and takes no longer than ListenOptions.DrainTimeout. A TLS
//     certificate can be replaced while it serves; one that is no good replaces
//     nothing.
//
// # Concurrency
//
// A Hub is safe for concurrent use. Close ends and awaits all that it has
// begun. Pushes of one agent are put in order by the store's transactions.
//
// # Limits
//
// What agents can make a hub hold is bounded, whatever they do: see package
// transport, which takes their connections and calls to the services here. Between
// two calls nothing of a push is kept in memory. The
// order of an agent's connections relies on Open where they are plain DRPC; a
// client that doesn't call it gets its place with its first push.
package hub
