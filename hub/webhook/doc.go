// Package webhook notifies webhooks of agents that are away, plugins that fail and pins
// that have drifted, in the form of github.com/standard-webhooks: a POST of JSON with an
// id, a time and a signature (HMAC-SHA256 of these and the body, with a secret that only
// the receiver and the hub's database know).
//
// # Guarantees
//
//   - One of the hubs with a store sends the queued messages, in order, and repeats each until it
//     is accepted or a day old. If a hub dies while sending, another one may send the same message
//     again, with the same id.
//   - Only public addresses are connected to, unless the webhook is Private. The address of the
//     connection is checked, not the name, so that changing a name's address doesn't help. Proxies
//     aren't used, because then only the proxy's address would be checked.
//   - Redirects are not followed. Only a little of an answer is read, and only its status is stored
//     and logged.
//   - An attempt ends after 10 seconds. After a failure the next attempt follows in 5 seconds, and
//     the pause doubles each time up to 10 minutes. A webhook that hangs doesn't delay others.
//
// A Runner is for one goroutine; Send is safe for concurrent use.
package webhook
