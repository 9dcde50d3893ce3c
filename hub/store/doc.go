// Package store says what a hub keeps and how: agents, tokens, sessions, and
// the newest snapshot of each agent. The implementations live in packages of
// their own ([waymark/hub/store/sqlite] is the embedded default) and pass one
// suite, storetest.Run, which is the specification of this interface.
//
// # Guarantees
//
//   - A push is one transaction: all of it is stored, or nothing is.
//   - A push from any session of an agent but the newest is refused.
//   - The revision rises with every accepted push, over all agents and across
//     restarts.
//   - No token is stored, only SHA-256 of one. Tokens carry 256 random bits,
//     so that a plain hash is enough: there is nothing to guess.
//   - Every implementation refuses the same pushes ([CheckPush]): what one
//     database would take and another would not (U+0000 in text, for one) is
//     refused by all.
//
// A store holds what it is given: whether a push is within a hub's caps is
// decided before it comes here, by package hub.
//
// Stores are safe for concurrent use, also by several processes at once.
package store
