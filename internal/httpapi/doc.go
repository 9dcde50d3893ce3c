// Package httpapi is the common part of the agent's and the hub's HTTP APIs: matching routes,
// limits and deadlines, the headers and errors of all answers, the protection against DNS
// rebinding by web pages, and serving an API on a Unix socket. Package problem has the form
// of errors, package apiclient the client.
//
// # An API
//
// An API consists of services. A [Service] is what one package contributes: its routes, and
// their description in OpenAPI. A program mounts several services on a [Router], which serves
// their descriptions as one document.
//
// # Guarantees
//
//   - A path is matched as it was sent, and each of its parameters is unescaped exactly once.
//     There are no redirects: "//", ".." and "%2F" in a path are kept, because paths contain
//     ids and file paths. (net/http's ServeMux redirects such paths, in HTML and without the
//     method.)
//   - Every error is JSON, including those of unknown routes, wrong methods and WebSocket
//     handshakes.
//   - A handler that panics costs only its own request. An answer that had begun is cut off,
//     so that nobody takes it for complete.
//   - A body is bounded. JSON is strict: unknown and repeated keys, trailing data and invalid
//     UTF-8 are refused.
//   - A route with a scope can't be mounted without a guard. Under a guard, a route that may
//     change something can't be mounted without its effect.
//   - A WebSocket is closed when its handler returns, and its context ends when the server
//     stops.
//
// # Concurrency
//
// A Router serves any number of requests at the same time; it doesn't change after New. A
// [Call] belongs to the goroutine of its handler.
package httpapi
