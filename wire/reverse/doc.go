// Package reverse speaks the reverse channel of waymark.v1, over which a hub sends requests
// to an agent, on a stream that the agent opens. Both ends are a [Channel]. They first tell
// each other which kinds of requests they serve, so the channel can carry requests in both
// directions, and more kinds later.
//
// # Guarantees
//
//   - A peer can't make this side hold more than a few frames. Nothing is queued; frames are
//     bounded before they are decoded; so is the number of pending requests. Frames that
//     arrive too fast are read later.
//   - Every request ends: with its answer, its deadline, or the channel.
//   - A peer that breaks a rule, doesn't read or falls silent loses only the channel. Nothing
//     but Options.End ends the connection of the stream.
//   - No error contains the content of a request.
//
// # Concurrency
//
// Run is called once. All methods may be called from any goroutine. Each handler runs in a
// goroutine of its own.
package reverse
