// Package hub is Waymark's control plane. It receives snapshots from agents over DRPC,
// stores the newest of each agent, and shows them through an HTTP API. Command hub serves
// one; the agent embeds one. The package puts together what lies below it, listens, and looks up
// tokens.
//
// Agents connect as package transport describes: at Coder's endpoint, on the same HTTP port
// as everything else, and by plain DRPC on a socket. Every connection serves two DRPC
// services. waymark.v1.Context transmits complete snapshots as changes against what is
// stored. Of coder.agent.v2.Agent, only PushContextState is implemented, so that Coder's
// agents can push, too; its other methods return that they are unimplemented.
//
// # Guarantees
//
//   - Only its token identifies an agent; each call looks the token up. What an agent says about
//     itself is data. Reader tokens give access only to the HTTP API, agent tokens only to the
//     DRPC services.
//   - A push is checked completely before anything is written, because workspaces aren't trusted:
//     by the rules of Coder's server, in its order, for Coder's protocol, and by wider limits and
//     some more rules for ours. The result of a delta is checked by the same rules as a full push.
//     A refused push changes nothing and doesn't end the connection.
//   - A push is stored completely or not at all. A hash stands for a text only if the same agent
//     has sent that text. Knowing a hash gives no access, and answers don't reveal whether another
//     agent has the text.
//   - U+0000 is removed from text before the checks, so that all databases store the same. The
//     decoder refuses invalid UTF-8.
//   - An agent's connections are ordered before a push can be sent: at the WebSocket's handshake,
//     or by the call Open. After a push on a newer connection was accepted, pushes on older ones
//     are refused (wire.CodeSuperseded), however late they arrive, so that nothing old overwrites
//     something newer. An agent that identifies its run by Open is notified at once when another
//     run takes over, and when that has ended; see RATIONALE.md.
//   - Payloads and tokens are never logged, and metrics contain no names.
//   - A stopping Server answers calls in progress, tells agents to reconnect, and takes at most
//     ListenOptions.DrainTimeout. A TLS certificate can be replaced while serving; an invalid one
//     is ignored.
//
// # Concurrency
//
// A Hub is safe for concurrent use. Close ends everything that it has started, and waits
// for that. The store's transactions order the pushes of an agent.
//
// # Limits
//
// Package transport, which handles connections and calls, limits what agents can make a hub
// store. Between two calls nothing of a push is kept in memory. On plain DRPC the order of
// an agent's connections depends on Open; a client that doesn't call it gets its place with
// its first push.
package hub
