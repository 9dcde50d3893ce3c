package store

import "waymark/snapshot"

// Push is what an agent sends.
type Push struct {
	// Initial says that this is the first push of a connection: it is
	// accepted whatever its version is.
	Initial bool
	// Snapshot is what the agent has. PayloadBytes is not used: the store
	// counts.
	Snapshot snapshot.Snapshot

	// Delta says that Snapshot.Resources are only those that are new or
	// changed since BaseVersion, the last version that was accepted from this
	// session. Everything else in Snapshot is whole.
	Delta       bool
	BaseVersion uint64
	// Removed are the ids of the resources that are gone since BaseVersion.
	Removed []string

	// MaxResources and MaxPayload, the sum of the lengths of all payloads,
	// bound the whole snapshot after the push; 0 means no bound. They are for
	// deltas, of which only the store knows what they come to.
	MaxResources int
	MaxPayload   int64
}

// PushResult is the outcome of a push that was not refused.
type PushResult struct {
	// Accepted is false when the version wasn't newer: nothing was written.
	Accepted bool
	// Revision is the agent's revision after the push. A push that brings
	// what is there already, as the first one of a new connection often does,
	// makes no new one.
	Revision int64
	// Written is the number of resources that are new or changed, Removed of
	// those that are gone.
	Written, Removed int
}
