// Package store defines what a hub stores: agents, tokens, sessions, the newest snapshot of
// each agent, and its history. The implementations have their own packages
// ([waymark/hub/store/sqlite] is the embedded default, [waymark/hub/store/postgres] is for
// several hubs) and pass the same suite, storetest.Run, which is the specification of this
// interface. [waymark/hub/store/drivers] opens the one that a URL names.
//
// # Guarantees
//
//   - A push is one transaction. Rows that it doesn't change are not written.
//   - After a push of a session was accepted, pushes from older sessions of the agent are refused,
//     however late they arrive.
//   - A delta is applied only to its base, which it identifies by name.
//   - The revision of an agent rises with every push of it that changes something, across hubs and
//     restarts. No two pushes have the same. Numbers may be skipped, and say nothing about the order
//     of pushes of different agents.
//   - A reader that follows events misses none, and gets those of an agent in the order of its
//     revisions.
//   - Tokens are stored only as SHA-256. They have 256 random bits, so a plain hash is sufficient:
//     guessing is impossible.
//   - Every implementation refuses the same pushes ([CheckPush]): what only some databases accept,
//     such as U+0000 in text, is refused by all.
//
// A store doesn't check whether a push is within a hub's limits; package hub does that
// before.
//
// # History
//
// A revision is a push that changed something. A push of what is stored already, which is
// common for a new connection, makes none: otherwise a thousand reconnecting agents would
// make a thousand events and displace real history. A [Retention] determines how much is
// kept. Each push drops its agent's older revisions, and Prune does so for silent agents. A
// revision costs the changed rows and new payloads; payloads are stored once for all agents
// and revisions, under the SHA-256 that the store computes.
//
// # Pins
//
// A [Pin] is a copy of a snapshot that a reader builds on: its rows, and the names of its
// payloads, which are kept as long as the pin has them. A push updates the pins of its
// agent in its own transaction, so that several hubs can't disagree: it fills empty pins,
// marks those with another hash as drifted, once, and updates the MCP rows of all.
// Otherwise only RefreshPin changes a pin. A pin outlives its agent.
//
// # Following
//
// Pushes, changes of pins and removals of agents are [Events], which are only added, and
// kept for a day, whatever the history of their agents is. Readers go on from a [Cursor].
// What orders events must not order pushes: a number that every push takes under a lock
// would make all agents of all hubs wait for each other's commits.
//
// Stores are safe for concurrent use, also by several processes at once.
package store
