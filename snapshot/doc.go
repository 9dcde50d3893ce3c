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
