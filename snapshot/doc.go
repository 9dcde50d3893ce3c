// Package snapshot holds what the engine produces: resources, the rules that
// turn the finds of many resolvers into one list, the hash that a chat pins,
// and the versions under which the list is published.
//
// It is pure: it opens no file and knows no resolver. Candidates go in, and
//
//	Assemble   applies precedence, collapses, deduplicates and caps them,
//	Aggregate  hashes what a chat would pin,
//	Publisher  gives the list a version and hands it to readers.
//
// # Guarantees
//
// Assemble depends on the set of candidates only, never on their order: a
// clean resolve and an incremental one give the same list. A resource that
// isn't ok has no payload, and an mcp_config has nothing that came out of the
// file: no name, description, key, attributes or payload.
//
// A version says that there is news for a reader: another thing was found, or the
// same thing with another text or status, or what was found is to be judged
// differently, since a module is another, has begun or ceased to fail or to be used,
// or a place isn't looked at or watched as it should be. How an agent goes about its
// work is no news: that it has looked again, tries again what failed, and when, how
// often it did, and in which words it failed this time. So whoever makes snapshots
// tells of a failure what was true when it began, for as long as nothing has changed
// that could have to do with it; how things are at the moment is for the agent's
// status and its log.
//
// # Concurrency
//
// A Snapshot and everything it refers to is immutable once published. Readers
// take it from the Publisher without locks and share it. Assemble and Aggregate
// are pure functions.
//
// # Limits
//
// Caps are applied here a second time: the host classifies oversize files when
// it reads them, this package makes sure. The JSON form has no payloads; they
// are fetched one at a time.
package snapshot
