package store

import (
	"waymark/snapshot"
	"waymark/wire/claim"
)

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

	// Claim is the name of what the agent has, in place of that: the push, which
	// brings nothing, is accepted if it is the name of what is stored of the agent.
	Claim *claim.Name

	// Bodies says of resources, by their index in Snapshot.Resources, which
	// payload they have. One that isn't there (its resource's is nil) has to be
	// the payload of a resource that the agent itself has, or had in a revision
	// that is kept: that another agent has it counts for nothing.
	Bodies map[int]Body

	// MaxResources and MaxPayload, the sum of the lengths of all payloads,
	// bound the whole snapshot after the push; 0 means no bound. They are for
	// deltas, of which only the store knows what they come to.
	MaxResources int
	MaxPayload   int64
}

// Body names a payload.
type Body struct {
	Digest Digest // SHA-256 of the payload
	Size   int64  // in bytes
}

// PushResult is the outcome of a push that was not refused.
type PushResult struct {
	// Accepted is false when the version wasn't newer, or payloads are missing:
	// nothing was written.
	Accepted bool
	// Revision is the agent's revision after the push. A push that brings
	// what is there already, as the first one of a new connection often does,
	// makes no new one.
	Revision int64
	// Written is the number of resources that are new or changed, Removed of
	// those that are gone.
	Written, Removed int
	// Missing are those of Push.Bodies whose payloads the push has to bring, in
	// order.
	Missing []int
}
