// Package api has what both ends of the hub's API for readers share: the JSON
// types and their description, openapi.json. Package consumer is the end that
// serves it, package client the one that calls it.
package api

import (
	_ "embed" // the document
	"slices"
	"time"

	"waymark/internal/clientview"
	"waymark/snapshot"
)

// Root is the path below which everything is.
const Root = "/api/v0"

// Pieces answers ?format=pieces: the parts of the text that ?format=markdown has, for who
// makes one of them himself.
type Pieces struct {
	AgentID  string  `json:"agent_id"`
	Revision int64   `json:"revision"`
	Pieces   []Piece `json:"pieces"` // in the order of the text
	// LeftOut had no room in the budget; ReadByClient counts what the client reads by itself.
	LeftOut      []LeftOut `json:"left_out"`
	ReadByClient int       `json:"read_by_client"`
	// Tokens is about how long the text is as Markdown, as bytes by four.
	Tokens int `json:"tokens"`
}

// Piece is what a text has of one resource, in Markdown: what the workspace wrote is
// fenced or escaped.
type Piece struct {
	ID     string        `json:"id"`
	Kind   string        `json:"kind"`
	Source string        `json:"source"`
	Digest snapshot.Hash `json:"digest"` // of the content; null where there is none
	Text   string        `json:"text"`
}

// LeftOut is a resource that had no room.
type LeftOut struct {
	ID        string `json:"id"`
	Source    string `json:"source"`
	SizeBytes int64  `json:"size_bytes"`
}

// CapabilityHeader is the header in which a chat server shows what an agent has minted for
// a chat, to have tools called there.
const CapabilityHeader = "Waymark-Capability"

//go:embed openapi.json
var document []byte

// Document returns the description of the API, in OpenAPI 3.1.
func Document() []byte { return slices.Clone(document) }

// Agent is one agent and the head of its newest snapshot.
type Agent struct {
	ID            string        `json:"id"`
	Name          string        `json:"name"`
	Connected     bool          `json:"connected"`
	Version       uint64        `json:"version"`
	AggregateHash snapshot.Hash `json:"aggregate_hash"`
	Resources     int           `json:"resources"`
	Revision      int64         `json:"revision"`
	// UpdatedAt is null until the agent has pushed.
	UpdatedAt *time.Time `json:"updated_at"`
	// Discovery says in short whether more is still to come. It is pending until
	// the agent has pushed.
	Discovery snapshot.Summary `json:"discovery"`
	// Hostname, Root (the workspace's directory) and AgentVersion are what the agent
	// says of itself; empty for older agents.
	Hostname     string `json:"hostname"`
	Root         string `json:"root"`
	AgentVersion string `json:"agent_version"`
	// Labels are given by operators.
	Labels map[string]string `json:"labels"`
	State  AgentState        `json:"state"`
	// AwaySince is null unless State is StateAway. Of an agent whose hub was killed
	// it may be five minutes early.
	AwaySince *time.Time `json:"away_since"`
	// LastPushAt is when a push last came; null until the first.
	LastPushAt *time.Time `json:"last_push_at"`
	// FailingPlugins counts modules that fail, are quarantined or rejected.
	FailingPlugins int `json:"failing_plugins"`
	DriftedPins    int `json:"drifted_pins"`
	// Attention says in codes why somebody should look; empty: there is no reason.
	Attention []string `json:"attention"`
	// NotHeard is how many others have the agent's token, are connected, and
	// aren't heard, since this one has taken over from them.
	NotHeard int `json:"not_heard"`
	// Removed is set in the event of the agent's removal.
	Removed bool `json:"removed,omitempty"`
}

// AgentState says whether an agent is there.
type AgentState string

// The states of an agent.
const (
	StateConnected      AgentState = "connected"
	StateAway           AgentState = "away"
	StateNeverConnected AgentState = "never_connected"
)

// The codes of Agent.Attention. An agent that has been away, or was made and has never
// connected, for a quarter of an hour has its state there.
const (
	AttentionNotHeard = "not_heard"       // others have its token, too
	AttentionSnapshot = "snapshot_error"  // something is wrong with the snapshot as a whole
	AttentionPlugins  = "failing_plugins" // FailingPlugins isn't 0
	AttentionPins     = "drifted_pins"    // DriftedPins isn't 0
)

// Snapshot is what an agent has or had, without payloads.
type Snapshot struct {
	snapshot.Snapshot
	AgentID    string    `json:"agent_id"`
	ReceivedAt time.Time `json:"received_at"`
	// Revision is the hub-wide revision that made it.
	Revision int64 `json:"revision"`
	// Away says that its discovery is pending and that the agent isn't connected: what
	// is still to come doesn't come before it is back. It is never set of what was
	// asked for by a revision or a pin.
	Away bool `json:"away,omitempty"`
}

// ClientContext is what a coding agent would see that is started where an agent works, as
// that agent says.
type ClientContext = clientview.Answer

// Coverage is which files lie where agents look and aren't used, as an agent says.
type Coverage = clientview.Coverage

// Change is one revision of an agent, against the one before it.
type Change struct {
	Revision      int64         `json:"revision"`
	Version       uint64        `json:"version"`
	AggregateHash snapshot.Hash `json:"aggregate_hash"`
	At            time.Time     `json:"at"`
	// Discovery is that of the snapshot, in short.
	Discovery snapshot.Summary `json:"discovery"`
	// Added, Changed and Removed count resources.
	Added   int `json:"added"`
	Changed int `json:"changed"`
	Removed int `json:"removed"`
	// FailingPlugins counts plugins of the snapshot that fail.
	FailingPlugins int `json:"failing_plugins"`
}

// Diff is what became different from one revision of an agent to another, in
// order of the resources' ids.
type Diff struct {
	AgentID string         `json:"agent_id"`
	From    int64          `json:"from"`
	To      int64          `json:"to"`
	Changes []ResourceDiff `json:"changes"`
}

// What happened to a resource.
const (
	Added   = "added"
	Changed = "changed"
	Removed = "removed"
)

// ResourceDiff is what became of one resource.
type ResourceDiff struct {
	ID     string             `json:"id"`
	Kind   string             `json:"kind"`
	Change string             `json:"change"` // Added, Changed or Removed
	Before *snapshot.Resource `json:"before"`
	After  *snapshot.Resource `json:"after"`
	// Diff is a unified diff of the text, empty where there is none to show;
	// DiffNote says why.
	Diff     string `json:"diff"`
	DiffNote string `json:"diff_note"`
}

// Pin is a snapshot that a consumer holds on to, whatever the agent pushes.
type Pin struct {
	ID      string `json:"id"`
	AgentID string `json:"agent_id"`
	Name    string `json:"name"`
	// Revision is what is pinned; 0 means that the pin is empty, since the
	// agent has not pushed yet.
	Revision      int64         `json:"revision"`
	AggregateHash snapshot.Hash `json:"aggregate_hash"`
	CreatedAt     time.Time     `json:"created_at"`
	PinnedAt      *time.Time    `json:"pinned_at"`
	// DriftedAt is when the agent's hash first differed, null while it hasn't.
	// Only a refresh clears it.
	DriftedAt *time.Time `json:"drifted_at"`
	// DriftRevision is the first revision that differed.
	DriftRevision int64 `json:"drift_revision"`
	// AgentGone says that the hub doesn't know the agent any more.
	AgentGone bool `json:"agent_gone"`
	// Deleted is set in the event of the pin's deletion.
	Deleted bool `json:"deleted,omitempty"`
}

// NewPin is the body of POST /api/v0/pins.
type NewPin struct {
	AgentID string `json:"agent_id"`
	Name    string `json:"name"`
}

// NewApproval is the body of POST /api/v0/approvals.
type NewApproval struct {
	// Signed is a document of package wire/approval.
	Signed []byte `json:"signed"`
}

// ApprovalState says whether agents get an approval.
type ApprovalState string

// The states of an approval.
const (
	ApprovalLive    ApprovalState = "live"
	ApprovalRevoked ApprovalState = "revoked"
	ApprovalExpired ApprovalState = "expired"
)

// Approval is a signed approval that the hub keeps. What it says of itself is from
// the document, whose signature no hub can judge.
type Approval struct {
	ID         string `json:"id"`
	Name       string `json:"name"`
	Definition string `json:"definition"`
	// Agents are the ids of those that it is for; empty: all.
	Agents    []string  `json:"agents"`
	KeyID     string    `json:"key_id"`
	IssuedAt  time.Time `json:"issued_at"`
	ExpiresAt time.Time `json:"expires_at"`

	State ApprovalState `json:"state"`
	// AddedBy is the id of the token with which it was added.
	AddedBy   string     `json:"added_by"`
	AddedAt   time.Time  `json:"added_at"`
	RevokedAt *time.Time `json:"revoked_at"`
	Signed    []byte     `json:"signed"`
}

// SearchResult is what was found.
type SearchResult struct {
	Hits []Hit `json:"hits"`
	// More says that there is more than was asked for.
	More bool `json:"more"`
}

// HitPlugin is the kind of a Hit that is a plugin which fails.
const HitPlugin = "plugin"

// Hit is something that an agent has: a resource, or a plugin that fails.
type Hit struct {
	AgentID string `json:"agent_id"`
	ID      string `json:"id"`   // of the resource; empty for a plugin
	Kind    string `json:"kind"` // of the resource, or HitPlugin
	Name    string `json:"name"`
	Source  string `json:"source"`
	Status  string `json:"status"`
	Hash    string `json:"hash"` // SHA-256, hexadecimal
}

// Enrollment is the body of POST /api/v0/enroll. Whoever enrolls makes the token, of
// the form of an agent's, and keeps it.
type Enrollment struct {
	TokenSHA256 string `json:"token_sha256"` // hexadecimal
	Name        string `json:"name"`         // for people
}

// Enrolled is the answer: which agent it is now.
type Enrolled struct {
	AgentID string `json:"agent_id"`
	TokenID string `json:"token_id"`
}

// Login is a way into the hub's page.
type Login struct {
	// URL works once. Whoever has it can read what the token shows: it is a secret.
	URL       string    `json:"url"`
	ExpiresAt time.Time `json:"expires_at"`
}

// The types of events.
const (
	EventContext = "context"
	EventPin     = "pin"
	EventAgent   = "agent"
	EventReset   = "reset"
)

// ContextEvent says that an agent's snapshot changed.
type ContextEvent struct {
	AgentID       string        `json:"agent_id"`
	Revision      int64         `json:"revision"`
	Version       uint64        `json:"version"`
	AggregateHash snapshot.Hash `json:"aggregate_hash"`
	// Discovery is that of the snapshot, in short. What it says of a source changes
	// without any resource, too.
	Discovery snapshot.Summary `json:"discovery"`
	// Changed are the ids of resources that differ, at most a hundred; More
	// counts those that aren't named.
	Changed []string `json:"changed"`
	More    int      `json:"more,omitempty"`
	// At is when the push came; Counts say what became of the resources, and
	// FailingPlugins how many plugins fail now.
	At             time.Time `json:"at"`
	Counts         Counts    `json:"counts"`
	FailingPlugins int       `json:"failing_plugins"`
}

// Counts say of resources what a push has done.
type Counts struct {
	Added   int `json:"added"`
	Changed int `json:"changed"`
	Removed int `json:"removed"`
}

// ResetEvent says that the position that was asked for isn't kept any more,
// or lies in the future: whoever keeps a copy of something reads it again.
type ResetEvent struct {
	Reason string `json:"reason"`
}
