// Package server is the agent's local HTTP API: what it answers, and how it is served.
// Its types are in agentapi/status; agentapi/client calls it.
//
// The API is described by an OpenAPI document that is made of its routes and those of
// Options.Services, and served as well. Answers are JSON; errors are
// {"message","detail"}. A Backend does what is asked; this package decodes, bounds and
// guards.
//
// # Who may ask
//
// A Unix socket of mode 0600 in a directory of mode 0700: who can open it is
// the user, and nothing else is asked. Everything that doesn't come over a Unix
// socket needs the token of Options.Token as "Authorization: Bearer", GET
// /healthz excepted, and a Host header that names the address it came to, since
// any web page could have its own name point to 127.0.0.1. What a browser
// sends for a page of another origin is refused everywhere.
//
// # Guarantees
//
//   - Slow clients are cut off: headers within 5 s, a whole request within 15 s,
//     an answer within 30 s.
//   - A request waits no longer than Options.MaxWait, and ends when its client
//     goes away or the agent stops. Options.MaxWaits bounds how many wait.
//   - Bodies are strict: unknown and repeated keys, trailing data, invalid
//     UTF-8 and what is over 64 KiB are refused.
//   - A handler that panics costs that request only.
//   - A socket that another process serves is never taken over.
//
// # Concurrency
//
// A handler serves any number of requests at the same time, and calls the
// Backend from their goroutines.
//
// # Limits
//
// What isn't HTTP at all, and headers over 32 KiB, are answered by net/http, in
// plain text.
package server
