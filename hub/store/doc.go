// Package store says what a hub keeps and how: agents, tokens, sessions, the
// newest snapshot of each agent, and its history. The implementations live in
// packages of their own ([waymark/hub/store/sqlite] is the embedded default,
// [waymark/hub/store/postgres] is for hubs that are more than one) and pass
// one suite, storetest.Run, which is the specification of this interface.
// [waymark/hub/store/drivers] opens the one that a URL names.
//
// # Guarantees
//
//   - A push is one transaction: all of it is stored, or nothing is. Rows that
//     it doesn't change are not written.
//   - Once a session has had a push accepted, pushes from older sessions of
//     the agent are refused, however late they come.
//   - A change is applied only to what it says it is against, by that's name.
//   - The revision rises with every push that changes something, over all
//     agents and hubs and across restarts, and revisions become visible in
//     their order: a reader that has seen one will never find another below
//     it. It may skip numbers.
//   - No token is stored, only SHA-256 of one. Tokens carry 256 random bits,
//     so that a plain hash is enough: there is nothing to guess.
//   - Every implementation refuses the same pushes ([CheckPush]): what one
//     database would take and another would not (U+0000 in text, for one) is
//     refused by all.
//
// A store holds what it is given: whether a push is within a hub's caps is
// decided before it comes here, by package hub.
//
// # History
//
// A revision is one push that changed something: a push that brings what is
// there already, as that of a new connection often does, makes none, so that a
// thousand agents that connect anew don't make a thousand events and push the
// real history out. How much of the past is kept is a [Retention]'s business;
// each push drops what is beyond it of its agent, and Prune does so for agents
// that have fallen silent. A revision costs the rows that it changed and the
// payloads that nobody had; payloads are kept once, under the SHA-256 that the
// store computes, for all agents and revisions.
//
// # Pins
//
// A [Pin] is a copy of a snapshot that a reader builds on: its rows, and the
// names of its payloads, which are kept as long as it has them. What a push
// does to the pins of its agent it does in its own transaction, so several hubs
// can't disagree: it fills those that are empty, marks as drifted those whose
// hash is another one, once, and lets the MCP rows of all follow. Nothing else
// of a pin changes but by RefreshPin. A pin outlives its agent.
//
// # Following
//
// Pushes, changes of pins and removals of agents share one row of revisions.
// [Events] are all that came above one of them. Of a pin only the last change is
// kept, so following costs no history of its own; what was deleted is
// remembered for as long as a revision would be. Events.Floor says from where
// somebody could still follow without a gap.
//
// Stores are safe for concurrent use, also by several processes at once.
package store
