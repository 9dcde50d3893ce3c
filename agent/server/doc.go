// Package server serves the agent's local HTTP API. Package agentapi/status has its types,
// and agentapi/client calls it.
//
// An OpenAPI document describes the API. It is generated from the routes, including those
// of Options.Services, and the API serves it. Answers are JSON; errors are
// {"message","detail"}. This package decodes requests, enforces limits and checks access. A
// Backend does the work.
//
// # Access
//
// The Unix socket has mode 0600 in a directory of mode 0700, so only the user can open it,
// and nothing else is required there. Every other request needs "Authorization: Bearer"
// with Options.Token, except GET /healthz. It also needs a Host header that names the
// address it was sent to, because any web page can make its own host name resolve to
// 127.0.0.1. Requests that a browser makes for a page of another origin are always refused.
//
// # Guarantees
//
//   - Slow clients are cut off: headers must arrive within 5 s, a whole request within 15 s, and
//     an answer must be read within 30 s.
//   - A request waits at most Options.MaxWait. It ends when its client disconnects or the agent
//     stops. Options.MaxWaits limits how many requests wait.
//   - Bodies are parsed strictly: unknown and repeated keys, trailing data, invalid UTF-8 and
//     more than 64 KiB are refused.
//   - If a handler panics, only that request fails.
//   - A socket that another process serves is never taken over.
//
// # Concurrency
//
// An API serves any number of requests at the same time, and calls the Backend from their
// goroutines.
//
// # Limits
//
// Input that isn't HTTP, and headers over 32 KiB, are answered by net/http in plain text.
package server
