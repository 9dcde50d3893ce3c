// Package snapshot holds what the engine produces: resources, the rules that turn the finds
// of many resolvers into one list, the hash that a chat pins, and the versions under which
// the list is published.
//
// It is pure: it opens no file and knows no resolver. Of candidates,
//
//	Assemble   applies precedence, collapses, deduplicates and caps them,
//	Aggregate  hashes what a chat would pin,
//	Publisher  gives the list a version and hands it to readers.
//
// # Guarantees
//
// Assemble depends only on the set of candidates, never on their order: a clean resolve and
// an incremental one give the same list. A resource that isn't ok has no payload, and an
// mcp_config has nothing from the file: no name, description, key, attributes or payload.
//
// A new version says that there is news for a reader: a thing was added or removed; its text
// or status has changed; or the finds mean something else, because a module has changed, has
// started or stopped failing or being used, or because a place isn't looked at or watched as
// it should be. The agent's own work is no news: another look, a retry and its time, the
// number of failures, or another text of the same failure. So whoever makes snapshots reports
// a failure as it was when it began, until something relevant has changed. The agent's status
// and log have the current state.
//
// # Concurrency
//
// A Snapshot and everything it refers to is immutable once published. Readers take it from
// the Publisher without locks and share it. Assemble and Aggregate are pure functions.
//
// # Limits
//
// Caps are applied here a second time: the host classifies oversize files when it reads them,
// and this package makes sure. The JSON form has no payloads; they are fetched one at a time.
package snapshot
