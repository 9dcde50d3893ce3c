package store

import (
	"time"

	"waymark/snapshot"
	"waymark/wire"
)

// Push is what an agent sends.
type Push struct {
	// Initial says that this is the first push of a connection, which is accepted whatever
	// its version is. Of an Update that is known without.
	Initial bool
	// Snapshot is what the agent has, or what has changed. PayloadBytes is not used: the
	// store counts.
	Snapshot snapshot.Snapshot
	// Hub and Run are those of the session, for Writer; empty: nobody needs to know.
	Hub, Run string
	// Update says against what the push is; nil: Snapshot is everything, and has no name.
	Update *Update
	// Bodies says of resources, by their index in Snapshot.Resources, which payload they
	// have. One that isn't there (its resource's is nil) has to be one that the agent
	// itself has brought with Upload, or the payload of a resource that it has, or had in
	// a revision that is kept: that another agent has it counts for nothing.
	Bodies map[int]Body

	// MaxResources, MaxPayload, the sum of the lengths of all payloads, and MaxRows, that
	// of wire.RowSize, bound the whole snapshot after the push; 0 means no bound.
	MaxResources        int
	MaxPayload, MaxRows int64
}

// Update is a push against what is stored.
type Update struct {
	// Base is the name of what has to be stored; the zero Name: it doesn't matter, and the
	// push is everything.
	Base wire.Name
	// Name is that of what the agent has then.
	Name wire.Name
	// Head says that the snapshot's head is another one, too; else that of the base stays.
	Head bool
	// Removed are the ids of resources of the base that are gone.
	Removed []string
}

// Partial reports whether the push says only what has changed.
func (p *Push) Partial() bool { return p.Update != nil && p.Update.Base != wire.Name{} }

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
	// Missing are those of Push.Bodies whose payloads the agent has to bring, in
	// order.
	Missing []int
}

// How much of what an agent has uploaded is kept, in bytes, and for how long. What is more
// takes the place of all of it.
const (
	MaxUploads = 32 << 20
	UploadsFor = time.Hour
)
