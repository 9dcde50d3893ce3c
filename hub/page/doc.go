// Package page is the hub's page for people: who pushes what, what is wrong with it, what
// has changed, and what is pinned. It consists of embedded HTML, CSS and a few ECMAScript
// modules, without a build chain and external resources. It reads everything from the hub's
// API for consumers.
//
// # Signing in
//
// Browsers have no tokens. The owner of a token, or whoever starts the hub, gets a link
// with a code that works once and for ten minutes ([Codes]). Opening it starts a session,
// with a cookie. A session belongs to the token that made the link: it shows what the token
// shows, and ends with it, and after a fixed time in any case. It can't make links, and
// isn't valid as a token in a header. Signing out ends it. Without a valid cookie the page
// explains how to get a link.
//
// # Guarantees
//
//   - Content of a workspace is shown as text. The page never turns it into HTML, which the
//     Content-Security-Policy and Trusted Types enforce. Invisible characters, and those that
//     change the direction of text, are made visible.
//   - The cookie is HttpOnly and SameSite=Strict, and Secure under TLS. Codes are stored as hashes.
//     Neither codes nor tokens are logged.
//   - A code has 128 bits and can't be guessed in ten minutes. Wrong codes don't affect others: a
//     valid one always works. A client's wrong codes are reported and logged, at most three a
//     second.
//
// # Concurrency
//
// A Page serves any number of requests at the same time. It has no goroutines and needs no
// Close.
//
// # Limits
//
// Codes are in the memory of one hub: behind a balancer, a link must be opened at the hub
// that made it, or requested again. A token has at most thirty-two valid codes; a new one
// replaces the oldest.
package page
