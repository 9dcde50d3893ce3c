// Package server is the hub's JSON API for readers: chats that build on what
// agents push, dashboards, and people. It serves its description, too, which is
// openapi.json of package hub.
//
// Readers see agents, their snapshots, resources and history; they pin
// snapshots, get one event when one drifts, see what differs, and refresh; and
// they follow everything as server-sent events.
//
// # Who may ask
//
// Every request shows a reader's token, as "Authorization: Bearer", or the
// session of a browser in the cookie httpapi.SessionCookie. What a token's scope doesn't
// show isn't there for the reader, in any answer: handlers have no other way to
// the store than one that knows the scope. Revisions stay hub-wide. What a page of another origin
// has a browser send is refused where it would change something. The Host
// header is package hub's business.
//
// # Following
//
// Whatever changes has a revision, store-wide and rising: pushes, and what is
// done to pins and agents. The id of an event is the revision up to which the
// stream is complete with it, so a reader that goes on from the last id it has
// seen, with any hub of the database, gets every event: of the events of one
// revision only the last one carries an id. Where that isn't possible, since
// the history isn't kept for that long or was set back to a backup, the stream
// says "reset". A reader that is far behind gets the newest of each agent only.
//
// # Guarantees
//
//   - What a workspace chose is data: names, texts and ids are never part of
//     the form of an answer. JSON is JSON, bodies are plain text or bytes, and
//     no text ends the fence that the Markdown rendering puts around it.
//   - A token that is revoked, by whomever, ends its streams and waiting
//     requests, and those of its sessions, within Limits.Recheck; one that
//     expires does so at that moment.
//   - Neither payloads nor tokens are logged.
//
// # Concurrency
//
// An API serves any number of requests at the same time. What follows the
// store starts with the first stream or waiting request; Close ends it, and
// them.
//
// # Limits
//
// See Limits. All streams share one copy of the last events, of a few
// megabytes; a stream itself holds a batch of at most 256 revisions. A reader
// that doesn't take what is sent to it for Limits.Write is dropped.
package server
