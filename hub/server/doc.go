// Package server is the hub's JSON API for readers: chats that build on what agents push,
// dashboards, and people. It also serves its description, openapi.json of package hub.
//
// Readers see agents, their snapshots, resources and history. They pin snapshots, get one
// event when a pin drifts, see the differences, and refresh the pin. They can follow
// everything as server-sent events.
//
// # Access
//
// Every request has a reader's token, as "Authorization: Bearer", or a browser's session in
// the cookie httpapi.SessionCookie. What is out of the token's scope doesn't exist for the
// reader in any answer, because handlers can access the store only through a view that
// knows the scope. Revisions and positions stay hub-wide. Requests from pages of another origin are
// refused if they would change something. Package hub checks the Host header.
//
// # Following
//
// The id of an event is the cursor (store.Cursor) up to which the stream is complete
// including that event. So a reader that continues from the last id, at any hub of the
// database, gets every event. An event before which others may still come has no id: it is
// sent at once, and the position moves on when it is settled. If continuing isn't possible,
// because the events aren't kept any more or the database was restored, the stream sends
// "reset". A reader that is far behind gets only the newest event of each agent.
//
// # Guarantees
//
//   - Content of a workspace is data: names, texts and ids never affect the form of an answer.
//     JSON is encoded, bodies are plain text or bytes, and no text can end its fence in Markdown.
//   - Revoking a token ends its streams and waiting requests, and those of its sessions, within
//     Limits.Recheck; its expiry ends them at once.
//   - Payloads and tokens are never logged.
//
// # Concurrency
//
// An API serves any number of requests at the same time. Following the store starts with
// the first stream or waiting request. Close ends it, with all streams.
//
// # Limits
//
// See Limits. All streams share a copy of the last events, of a few megabytes. A stream
// itself holds a batch of at most 256 events. A reader that doesn't read for
// Limits.Write is disconnected.
package server
