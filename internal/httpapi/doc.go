// Package httpapi is what the agent's and the hub's HTTP APIs have in common:
// routes and how they are matched, limits and deadlines, the headers and errors
// of all answers, what keeps out web pages that have their own name point here,
// and how an API is served on a Unix socket. Package problem has the form of
// errors, package apiclient the other end.
//
// # An API
//
// An API is put together of services. A [Service] is what one package
// contributes: its routes, and their description in OpenAPI. One program mounts
// several of them on a [Router], which serves their descriptions as one document.
//
// # Guarantees
//
//   - A path is matched as it was sent, and each of its parameters is unescaped
//     exactly once. There are no redirects: "//", ".." and "%2F" in a path are
//     what they are, since ids and file paths stand there. (net/http's ServeMux
//     redirects such paths, in HTML and forgetting the method.)
//   - Every error is JSON, that of an unknown route, of a wrong method and of a
//     WebSocket handshake included.
//   - A handler that panics costs its request only. An answer that had begun is
//     cut, so that nobody takes it for whole.
//   - A body is bounded. JSON is strict: unknown and repeated keys, trailing
//     data and invalid UTF-8 are refused.
//   - A route with a scope isn't mounted without somebody who guards it, nor under a
//     guard one that may change something and doesn't say so.
//   - A WebSocket is closed when its handler returns, and its context ends when
//     the server stops.
//
// # Concurrency
//
// A Router serves any number of requests at the same time; it doesn't change
// after New. A [Call] belongs to the goroutine of its handler.
package httpapi
