package store

import (
	"context"
	"fmt"
	"time"

	"waymark/abi"
	"waymark/snapshot"
)

// MaxPins bounds the pins of one agent: each push that changes what they
// follow live writes to all of them.
const MaxPins = 1000

// MaxManifests bounds the manifests of a pin, in bytes.
const MaxManifests = 2 << 20

// Pin is a copy of an agent's snapshot that a reader builds on, a chat for
// example. Pushes don't change it, but for what FollowsLive, and for the discovery,
// which says whether more of that is to come.
type Pin struct {
	ID      string
	AgentID string
	// Name is for people.
	Name string
	// Revision is the agent's revision that was pinned; 0 says that the pin is
	// empty and takes the agent's first snapshot when that comes.
	Revision int64
	// AggregateHash is that of the pinned snapshot.
	AggregateHash snapshot.Hash
	CreatedAt     time.Time
	// PinnedAt is when the pin got what it has; zero while it is empty.
	PinnedAt time.Time
	// DriftedAt is when a push came whose aggregate hash differs from the
	// pinned one, for the first time since; zero when none has. A push back to
	// the pinned hash doesn't take it away, only RefreshPin does.
	DriftedAt time.Time
	// DriftRevision is the revision of that push.
	DriftRevision int64
	// AgentGone says that there is no such agent any more.
	AgentGone bool
	// Changed is the store-wide revision of the last change to the pin or to
	// what it holds; each has one.
	Changed int64
}

// Pins is the part of a Store that keeps pins.
//
// All that a push does to pins it does in its own transaction: it fills empty
// ones, marks those as drifted, once, whose hash is another one than the
// agent's, and replaces their rows that FollowsLive. Changes of pins that no
// push makes take a revision of their own.
type Pins interface {
	// CreatePin pins what the agent has now, or its first snapshot when it has
	// none yet. ErrInvalid is for a bad name.
	CreatePin(ctx context.Context, agentID, name string) (Pin, error)
	// Pins lists the pins of an agent, or with "" of all, the oldest first. An
	// agent that isn't there may have pins.
	Pins(ctx context.Context, agentID string) ([]Pin, error)
	Pin(ctx context.Context, id string) (Pin, error)
	// PinSnapshot returns what is pinned. An empty pin has no snapshot:
	// ErrNotFound.
	PinSnapshot(ctx context.Context, id string, withoutPayloads bool) (Pin, StoredSnapshot, error)
	// PinBody is ResourceBody for what is pinned.
	PinBody(ctx context.Context, id, resourceID string) ([]byte, error)
	// PinDiff tells what the agent has now that is different from what is
	// pinned, and at which revision; an agent that has nothing, or is gone, has
	// revision 0.
	PinDiff(ctx context.Context, id string) (pin Pin, list []ResourceChange, revision int64, err error)
	// RefreshPin pins anew what the agent has now, and takes the mark of drift
	// away. Without a snapshot of the agent the pin becomes empty.
	RefreshPin(ctx context.Context, id string) (Pin, error)
	DeletePin(ctx context.Context, id string) error
	// SetPinManifests keeps what is known of the files of the pin's skills, as long as it
	// has the snapshot of a revision; what that is is for the hub to say. Later it is
	// ErrNotFound, and more than MaxManifests bytes are ErrInvalid. It is no change that
	// readers hear of.
	SetPinManifests(ctx context.Context, id string, revision int64, manifests []byte) error
	// PinManifests returns that; nil where there is nothing.
	PinManifests(ctx context.Context, id string) ([]byte, error)
}

// FollowsLive reports whether resources of the kind are outside the aggregate
// hash, and follow their agent in pins.
func FollowsLive(kind abi.Kind) bool { return kind == abi.KindMCPConfig || kind == abi.KindMCPServer }

// CheckPinName reports whether every store can hold the name of a pin.
func CheckPinName(name string) error {
	if len(name) > maxName || !isText(name) {
		return fmt.Errorf("%w: a name is at most %d bytes of UTF-8 without NUL", ErrInvalid, maxName)
	}
	return nil
}
