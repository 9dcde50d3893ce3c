package store

import (
	"math"
	"time"

	"waymark/snapshot"
)

// Query says which snapshot of which agent is meant.
type Query struct {
	AgentID string
	// Revision asks for what the agent had when the store was at this
	// revision: the agent's newest revision that isn't above it. 0 asks for
	// what it has now. ErrNotFound says that this isn't kept any more, or
	// never was.
	Revision int64
	// WithoutPayloads leaves Resource.Payload nil; PayloadBytes is still
	// right.
	WithoutPayloads bool
}

// StoredSnapshot is a snapshot with what the store knows about it.
type StoredSnapshot struct {
	Snapshot snapshot.Snapshot
	// ReceivedAt is when a push last brought it.
	ReceivedAt time.Time
	// Revision is the store-wide revision that made it.
	Revision int64
}

// Change is one revision: a push that changed something.
type Change struct {
	Revision      int64
	AgentID       string
	Version       uint64
	AggregateHash snapshot.Hash
	Resources     int
	// Added, Changed and Removed count the resources that the push touched.
	Added, Changed, Removed int
	// Touched are their ids in order, at most MaxTouched of them. Revisions
	// that were made before hubs wrote it down have none.
	Touched []string
	// Discovery is that of the snapshot.
	Discovery snapshot.Summary
	// FailingPlugins counts those of the snapshot.
	FailingPlugins int
	// At is when the push came that made the revision.
	At time.Time
}

// MaxTouched bounds Change.Touched: a reader who gets more than a hundred changes
// reads everything anew.
const MaxTouched = 100

// ResourceChange is what happened to one resource between two revisions.
type ResourceChange struct {
	ID string
	// Before and After are the resource with its payload, nil where there is
	// none. One of them is set, or both and they differ.
	Before, After *snapshot.Resource
}

// Retention says how much of each agent's past is kept. The newest revision
// always is. A revision is dropped as soon as one of the limits asks for it,
// and with it everything older. The zero value keeps what its fields say.
type Retention struct {
	// Revisions counts the newest one, too; 0 means 100, less than 0 or too
	// many MaxRevisions.
	Revisions int
	// Age counts from when a revision ceased to be the newest; 0 means 30
	// days, less than 0 no limit.
	Age time.Duration
	// Bytes is for what the pushes of all but the newest revision wrote, text
	// and payloads; 0 means 64 MiB, less than 0 no limit. It is what a
	// workspace can make a hub keep that changes all the time.
	Bytes int64
}

const (
	// MaxRevisions bounds Retention.Revisions: each push looks at all of its
	// agent's revisions.
	MaxRevisions = 10_000

	// A hundred edits are some days of work on a workspace's context.
	defaultRevisions = 100
	// A chat that is pinned for longer should be refreshed.
	defaultAge = 30 * 24 * time.Hour
	// Four times what a snapshot may have.
	defaultBytes = 64 << 20
)

// Effective returns the retention with its defaults filled in.
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
