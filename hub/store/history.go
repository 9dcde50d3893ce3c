package store

import (
	"math"
	"time"

	"waymark/snapshot"
)

// Query selects a snapshot of an agent.
type Query struct {
	AgentID string
	// Revision selects the agent's newest revision that isn't above it, its state when the
	// store was at this revision. 0 selects the current one. If that isn't stored any more,
	// or never was, the error is ErrNotFound.
	Revision int64
	// WithoutPayloads leaves Resource.Payload nil; PayloadBytes is still set.
	WithoutPayloads bool
}

// StoredSnapshot is a snapshot with information from the store.
type StoredSnapshot struct {
	Snapshot snapshot.Snapshot
	// ReceivedAt is the time of the last push of it.
	ReceivedAt time.Time
	// Revision is its store-wide revision.
	Revision int64
}

// Change is a revision: a push that changed something.
type Change struct {
	Revision      int64
	AgentID       string
	Version       uint64
	AggregateHash snapshot.Hash
	Resources     int
	// Added, Changed and Removed are the numbers of resources that the push touched.
	Added, Changed, Removed int
	// Touched are their ids in order, at most MaxTouched. Revisions from old hubs have
	// none.
	Touched []string
	// Discovery is that of the snapshot.
	Discovery snapshot.Summary
	// FailingPlugins is the number in the snapshot.
	FailingPlugins int
	// At is the time of the push.
	At time.Time
}

// MaxTouched limits Change.Touched: beyond a hundred changes a reader reads everything
// again.
const MaxTouched = 100

// ResourceChange is the change of a resource between two revisions.
type ResourceChange struct {
	ID string
	// Before and After are the resource with its payload, nil if it doesn't exist. At least
	// one is set, and they differ.
	Before, After *snapshot.Resource
}

// Retention determines how much history of each agent is kept. The newest revision always
// is. A revision is dropped with everything older as soon as one of the limits is exceeded.
// The zero value means the defaults.
type Retention struct {
	// Revisions is the maximum number including the newest; 0 means 100, a negative or too
	// large value MaxRevisions.
	Revisions int
	// Age is the maximum time since a revision was the newest; 0 means 30 days, a negative
	// value no limit.
	Age time.Duration
	// Bytes limits what the pushes of all but the newest revision wrote, text and payloads;
	// 0 means 64 MiB, a negative value no limit. It limits a workspace that changes all the
	// time.
	Bytes int64
}

const (
	// MaxRevisions limits Retention.Revisions, because each push looks at all of its
	// agent's revisions.
	MaxRevisions = 10_000

	// A hundred edits are some days of work on a workspace's context.
	defaultRevisions = 100
	// A chat that is pinned for longer should be refreshed.
	defaultAge = 30 * 24 * time.Hour
	// Four times the maximum of a snapshot.
	defaultBytes = 64 << 20
)

// Effective returns the retention with defaults.
func (r Retention) Effective() Retention {
	switch {
	case r.Revisions == 0:
		r.Revisions = defaultRevisions
	case r.Revisions < 0 || r.Revisions > MaxRevisions:
		r.Revisions = MaxRevisions
	}
	switch {
	case r.Age == 0:
		r.Age = defaultAge
	case r.Age < 0:
		r.Age = math.MaxInt64
	}
	switch {
	case r.Bytes == 0:
		r.Bytes = defaultBytes
	case r.Bytes < 0:
		r.Bytes = math.MaxInt64
	}
	return r
}
