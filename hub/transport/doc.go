// Package transport brings the calls of agents to the services of a hub. It accepts
// connections, authenticates them, limits what their peers can cost, and ends them. The
// meaning of calls is up to its Services.
//
// Agents connect in two ways: by plain DRPC (ServeDRPC, ServeConn), with a token in each
// call, and at Coder's endpoint (ServeHTTP), a WebSocket that carries yamux with a stream
// for each call.
//
// # Guarantees
//
//   - No call reaches the services without a valid token, and no message is decoded before that.
//     The connections of a revoked token end within Limits.Recheck.
//   - Unauthenticated connections, on which no token was shown yet, never take the place of
//     authenticated ones; see Door.
//   - Session.Begin is called before a WebSocket's peer can send anything.
//   - Refused calls are answered, too, whether before they are admitted or because their message is
//     too large, if the peer still reads.
//   - Drain answers calls in progress, and then ends each connection so that its agent reconnects.
//
// # Concurrency
//
// A Transport is safe for concurrent use. Each connection has its own goroutines; Close
// ends them and waits for that. The calls of a WebSocket may run concurrently.
//
// # Limits
//
// See Limits. What peers can make the process hold is limited, whatever they do:
// Limits.Large messages of 4 MiB in progress, of which each token has one, and all
// unauthenticated peers together have one; 64 KiB for every other call in progress; 8 MiB
// of unread streams for each WebSocket, of which a token has Limits.SessionsPerToken; and
// two concurrent messages that are expensive to decode. Peers that are slow or silent, or
// violate yamux, are disconnected, with a reason if the protocol allows one. Others aren't
// affected.
//
// Plain DRPC has no pings: a peer that vanishes stays connected until the kernel notices,
// after a minute.
package transport
