package consumer

import (
	"time"

	"waymark/hub/store"
	"waymark/snapshot"
)

// agentJSON is one agent and the head of what it has.
type agentJSON struct {
	ID            string        `json:"id"`
	Name          string        `json:"name"`
	Connected     bool          `json:"connected"`
	Version       uint64        `json:"version"`
	AggregateHash snapshot.Hash `json:"aggregate_hash"`
	Resources     int           `json:"resources"`
	Revision      int64         `json:"revision"`
	UpdatedAt     *time.Time    `json:"updated_at"` // null until it has pushed
	// Removed is in events alone: there is no such agent any more.
	Removed bool `json:"removed,omitempty"`
}

func toAgent(a *store.AgentInfo, connected bool) agentJSON {
	return agentJSON{
		ID: a.ID, Name: a.Name, Connected: connected, Version: a.Version, AggregateHash: a.AggregateHash,
		Resources: a.Resources, Revision: a.Revision, UpdatedAt: orNull(a.UpdatedAt),
	}
}

// orNull is for times that may not have come.
func orNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// contextJSON is a snapshot as the agent itself shows it, and what the hub
// knows of it.
type contextJSON struct {
	snapshot.Snapshot
	AgentID    string    `json:"agent_id"`
	ReceivedAt time.Time `json:"received_at"`
	Revision   int64     `json:"revision"`
}

// changeJSON is one revision in a history.
type changeJSON struct {
	Revision      int64         `json:"revision"`
	Version       uint64        `json:"version"`
	AggregateHash snapshot.Hash `json:"aggregate_hash"`
	At            time.Time     `json:"at"`
	Added         int           `json:"added"`
	Changed       int           `json:"changed"`
	Removed       int           `json:"removed"`
}

// pinJSON is a pin.
type pinJSON struct {
	ID            string        `json:"id"`
	AgentID       string        `json:"agent_id"`
	Name          string        `json:"name"`
	Revision      int64         `json:"revision"`
	AggregateHash snapshot.Hash `json:"aggregate_hash"`
	CreatedAt     time.Time     `json:"created_at"`
	PinnedAt      *time.Time    `json:"pinned_at"`
	DriftedAt     *time.Time    `json:"drifted_at"`
	DriftRevision int64         `json:"drift_revision"`
	AgentGone     bool          `json:"agent_gone"`
	// Deleted is in events alone.
	Deleted bool `json:"deleted,omitempty"`
}

func toPin(p *store.Pin) pinJSON {
	return pinJSON{
		ID: p.ID, AgentID: p.AgentID, Name: p.Name, Revision: p.Revision, AggregateHash: p.AggregateHash,
		CreatedAt: p.CreatedAt, PinnedAt: orNull(p.PinnedAt), DriftedAt: orNull(p.DriftedAt),
		DriftRevision: p.DriftRevision, AgentGone: p.AgentGone,
	}
}

// diffJSON is what is different in one revision from another.
type diffJSON struct {
	AgentID string         `json:"agent_id"`
	From    int64          `json:"from"`
	To      int64          `json:"to"`
	Changes []resourceDiff `json:"changes"`
}

// resourceDiff is what became of one resource.
type resourceDiff struct {
	ID       string             `json:"id"`
	Kind     string             `json:"kind"`
	Change   string             `json:"change"` // added, changed or removed
	Before   *snapshot.Resource `json:"before"`
	After    *snapshot.Resource `json:"after"`
	Diff     string             `json:"diff"`
	DiffNote string             `json:"diff_note"`
}

// contextEvent tells that an agent's snapshot changed.
type contextEvent struct {
	AgentID       string        `json:"agent_id"`
	Revision      int64         `json:"revision"`
	Version       uint64        `json:"version"`
	AggregateHash snapshot.Hash `json:"aggregate_hash"`
	Changed       []string      `json:"changed"`
	More          int           `json:"more,omitempty"`
}

// resetEvent tells that a reader has to begin anew.
type resetEvent struct {
	Reason string `json:"reason"`
}
