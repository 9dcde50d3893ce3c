// Package reverse speaks the reverse channel of waymark.v1: over a stream that an
// agent opens, its hub asks something of it. Both ends are a [Channel]; which kinds of
// requests each serves they tell each other first, so the channel can carry requests
// in both directions, and more of them later.
//
// # Guarantees
//
//   - A peer can't make this side hold more than a few frames: nothing is queued,
//     frames are bounded before they are decoded, as are the requests that are under
//     way, and those that come too fast are read later.
//   - Every request has an end: its answer, its deadline, or that of the channel.
//   - A peer that breaks a rule, doesn't read or falls silent loses the channel, and
//     nothing else: what carries the stream is ended by Options.End alone.
//   - No content of a request is in any error.
//
// # Concurrency
//
// Run is called once. All methods may be called from any goroutine; handlers run in
// one of their own each.
package reverse
