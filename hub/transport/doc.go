// Package transport brings calls of agents to the services of a hub: it takes
// connections, finds out whose they are, bounds what their peers can cost, and
// ends them. What a call means it doesn't know; that is for its Services.
//
// Agents connect in two ways: by plain DRPC (ServeDRPC, ServeConn), where each
// call carries a token, and at the endpoint that Coder's server has for them
// (ServeHTTP): a WebSocket that carries yamux, on which each call has a stream.
//
// # Guarantees
//
//   - No call reaches the services without a valid token, and no message is
//     decoded before that. The connections of a token that is revoked end
//     within Limits.Recheck.
//   - Connections that haven't shown a token (unauthenticated ones) never take
//     the room of those that have; see Door.
//   - Session.Begin is called before a WebSocket's peer can send anything.
//   - A call gets an answer also when it is refused, before it is admitted or
//     because its message is too large, wherever the peer still reads.
//   - Drain answers what is under way and then ends each connection in a way
//     that tells its agent to connect again.
//
// # Concurrency
//
// A Transport is safe for concurrent use. Each connection has goroutines of its
// own; Close ends and awaits them all. The calls of one connection may run at
// the same time where it is a WebSocket.
//
// # Limits
//
// See Limits. What peers can make the process hold is bounded, whatever they
// do: Limits.Large messages of 4 MiB that are received and stored, of which one
// token has one and all unauthenticated peers together one; 64 KiB for every
// other call that is under way; 8 MiB of unread streams for each WebSocket, of
// which a token has Limits.SessionsPerToken; and two messages at a time of
// those that take much to decode. Who is slow, silent or breaks the rules of
// yamux is dropped, with a reason where the protocol has room for one; nobody
// else notices.
//
// Plain DRPC has no pings: a peer that vanishes without a word stays connected
// until the kernel notices, after a minute.
package transport
