// Package webhook tells webhooks of agents that are away, plugins that fail and pins
// that have drifted, as github.com/standard-webhooks describes it: a POST of JSON with
// an id, a time and a signature (HMAC-SHA256 of these and the body, by a secret that
// only the receiver and the hub's database know).
//
// # Guarantees
//
//   - What a store has in its rows is sent by one hub of those that share it, in its
//     order, and again until it is taken or is a day old. A hub that dies while it
//     sends lets another one send the same again, under the same id.
//   - Only addresses outside are connected to, unless the webhook is Private. What is
//     judged is the address of the connection, not the name, so that a name that
//     changes its address gains nothing. Proxies are not used, since they would be
//     what is judged.
//   - Redirects are not followed; of an answer little is read, and nothing is kept or
//     logged but its status.
//   - A try ends after 10 seconds. A webhook that fails is tried after 5 seconds, then
//     after twice as long each time, up to 10 minutes. One that hangs keeps no other
//     from being told.
//
// A Runner is for one goroutine; Send is safe for concurrent use.
package webhook
