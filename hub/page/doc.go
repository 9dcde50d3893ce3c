// Package page is the hub's page for people: who pushes what, what is wrong
// with it, what changed, and what is pinned. It is HTML, CSS and a few
// ECMAScript modules, embedded as they are: there is no build chain, and
// nothing is loaded from anywhere else. All that it shows it reads from the
// hub's API for consumers.
//
// # Signing in
//
// A browser has no token. Whoever has one, or starts the hub, gets a link with
// a code that works once and for ten minutes ([Codes]). Opening it begins a
// session, whose text is set as a cookie. A session belongs to the token that
// made the link: it shows what the token shows, ends with it, and after a fixed
// time in any case. It is no token: it makes no links, and is none in a header.
// Signing out ends it. Without a good cookie the page says how to get a link.
//
// # Guarantees
//
//   - What a workspace chose is shown as text: the page never makes HTML of
//     it, and the Content-Security-Policy and Trusted Types hold it to that.
//     Characters that can't be seen, or that turn the order of others, are
//     shown as what they are.
//   - The cookie is HttpOnly and SameSite=Strict, and Secure under TLS. Codes
//     are kept as hashes; neither they nor tokens are logged.
//   - A code has 128 bits, which nobody guesses in ten minutes, so trying codes
//     costs others nothing: a good one always works. Who tries wrong ones is
//     told so, and logged, three times a second at most.
//
// # Concurrency
//
// A Page serves any number of requests at the same time. It has no goroutines
// and needs no Close.
//
// # Limits
//
// Codes live in the memory of one hub: behind a balancer, the link has to be
// opened at the hub that made it, or asked for again. Of one token thirty-two
// are valid at the same time; a newer one replaces its oldest.
package page
