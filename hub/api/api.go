// Package api has what both ends of the hub's API for readers share: the JSON
// types. Package consumer is the end that serves and describes it, package client the one
// that calls it.
package api

import (
	"time"

	"waymark/internal/clientview"
	"waymark/snapshot"
)

// Root is the path below which everything is.
const Root = "/api/v0"

// Pieces answers ?format=pieces: the parts of the text that ?format=markdown has, for who
// makes one of them himself.
type Pieces struct {
	// AgentID is the agent.
	AgentID string `json:"agent_id"`
	// Revision is what the snapshot was made by.
	Revision int64   `json:"revision"`
	Pieces   []Piece `json:"pieces"` // in the order of the text
	// LeftOut had no room in the budget; ReadByClient counts what the client reads by itself.
	LeftOut []LeftOut `json:"left_out"`
	// How many the client reads by itself.
	ReadByClient int `json:"read_by_client"`
	// Tokens is about how long the text is as Markdown, as bytes by four.
	Tokens int `json:"tokens"`
}

// Piece is what a text has of one resource, in Markdown: what the workspace wrote is
// fenced or escaped.
type Piece struct {
	// ID is that of the resource.
	ID string `json:"id"`
	// Kind is that of the resource.
	Kind string `json:"kind"`
	// Source is where it is from.
	Source string        `json:"source"`
	Digest snapshot.Hash `json:"digest"` // of the content; null where there is none
	// Markdown: what the workspace wrote is fenced or escaped.
	Text string `json:"text"`
}

// LeftOut is a resource that had no room.
type LeftOut struct {
	// ID is that of the resource.
	ID string `json:"id"`
	// Source is where it is from.
	Source string `json:"source"`
	// SizeBytes is how long it is.
	SizeBytes int64 `json:"size_bytes"`
}

// CapabilityHeader is the header in which a chat server shows what an agent has minted for
// a chat, to have tools called there.
const CapabilityHeader = "Waymark-Capability"

// Agent is one agent and the head of its newest snapshot.
type Agent struct {
	// ID is what tokens and paths name it by.
	ID string `json:"id"`
	// For people; may be empty.
	Name string `json:"name"`
	// Whether it has a connection now, to this hub or, some seconds ago, to another over the
	// same database.
	Connected bool `json:"connected"`
	// Of its newest snapshot, as the agent counts; 0 until it has pushed.
	Version uint64 `json:"version" minimum:"0"`
	// AggregateHash is that of its newest snapshot.
	AggregateHash snapshot.Hash `json:"aggregate_hash"`
	// Resources is how many that has.
	Resources int `json:"resources" minimum:"0"`
	// That made its newest snapshot; 0 until it has pushed.
	Revision int64 `json:"revision" minimum:"0"`
	// UpdatedAt is null until the agent has pushed.
	UpdatedAt *time.Time `json:"updated_at"`
	// Discovery says in short whether more is still to come. It is pending until
	// the agent has pushed.
	Discovery snapshot.Summary `json:"discovery"`
	// Hostname, Root (the workspace's directory) and AgentVersion are what the agent
	// says of itself; empty for older agents.
	Hostname string `json:"hostname"`
	// The workspace's directory.
	Root string `json:"root"`
	// AgentVersion is what it says of itself, likewise.
	AgentVersion string `json:"agent_version"`
	// Labels are given by operators.
	Labels map[string]string `json:"labels"`
	// State says whether it is there.
	State AgentState `json:"state"`
	// AwaySince is null unless State is StateAway. Of an agent whose hub was killed
	// it may be five minutes early.
	AwaySince *time.Time `json:"away_since"`
	// LastPushAt is when a push last came; null until the first.
	LastPushAt *time.Time `json:"last_push_at"`
	// FailingPlugins counts modules that fail, are quarantined or rejected.
	FailingPlugins int `json:"failing_plugins" minimum:"0"`
	// How many pins of it hold something else than it has.
	DriftedPins int `json:"drifted_pins" minimum:"0"`
	// Attention says in codes why somebody should look; empty: there is no reason.
	Attention []string `json:"attention"`
	// NotHeard is how many others have the agent's token, are connected, and
	// aren't heard, since this one has taken over from them.
	NotHeard int `json:"not_heard" minimum:"0"`
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
	// AgentID is whose it is.
	AgentID string `json:"agent_id"`
	// ReceivedAt is when it came.
	ReceivedAt time.Time `json:"received_at"`
	// Revision is the hub-wide revision that made it.
	Revision int64 `json:"revision" minimum:"0"`
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
	// Revision is what the push has made.
	Revision int64 `json:"revision" minimum:"0"`
	// Version is that of the snapshot, as the agent counts.
	Version uint64 `json:"version" minimum:"0"`
	// AggregateHash is that of the snapshot.
	AggregateHash snapshot.Hash `json:"aggregate_hash"`
	// At is when it came.
	At time.Time `json:"at"`
	// Discovery is that of the snapshot, in short.
	Discovery snapshot.Summary `json:"discovery"`
	// Added, Changed and Removed count resources.
	Added int `json:"added" minimum:"0"`
	// Changed counts resources that are other ones now.
	Changed int `json:"changed" minimum:"0"`
	// Removed counts resources that are gone.
	Removed int `json:"removed" minimum:"0"`
	// FailingPlugins counts plugins of the snapshot that fail.
	FailingPlugins int `json:"failing_plugins" minimum:"0"`
}

// Diff is what became different from one revision of an agent to another, in
// order of the resources' ids.
type Diff struct {
	// AgentID is the agent.
	AgentID string `json:"agent_id"`
	// From is the earlier revision.
	From int64 `json:"from" minimum:"0"`
	// To is the later one.
	To int64 `json:"to" minimum:"0"`
	// In order of id.
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
	// ID is that of the resource.
	ID string `json:"id"`
	// Kind is that of the resource.
	Kind string `json:"kind"`
	// Change is what happened to it.
	Change string `json:"change" enum:"added,changed,removed"`
	// Before is what it was; null where it is new.
	Before *snapshot.Resource `json:"before"`
	// After is what it is; null where it is gone.
	After *snapshot.Resource `json:"after"`
	// Diff is a unified diff of the text, empty where there is none to show;
	// DiffNote says why.
	Diff string `json:"diff"`
	// Why there is none; empty when there is one.
	DiffNote string `json:"diff_note"`
}

// Pin is a snapshot that a consumer holds on to, whatever the agent pushes.
type Pin struct {
	// ID is what paths name it by.
	ID string `json:"id"`
	// AgentID is the agent whose snapshot it is.
	AgentID string `json:"agent_id"`
	// Name is for people.
	Name string `json:"name"`
	// Revision is what is pinned; 0 means that the pin is empty, since the
	// agent has not pushed yet.
	Revision int64 `json:"revision" minimum:"0"`
	// AggregateHash is that of what is pinned.
	AggregateHash snapshot.Hash `json:"aggregate_hash"`
	// CreatedAt is when it was made.
	CreatedAt time.Time `json:"created_at"`
	// When the pin got what it has; null for an empty pin.
	PinnedAt *time.Time `json:"pinned_at"`
	// DriftedAt is when the agent's hash first differed, null while it hasn't.
	// Only a refresh clears it.
	DriftedAt *time.Time `json:"drifted_at"`
	// DriftRevision is the first revision that differed.
	DriftRevision int64 `json:"drift_revision" minimum:"0"`
	// AgentGone says that the hub doesn't know the agent any more.
	AgentGone bool `json:"agent_gone"`
	// Deleted is set in the event of the pin's deletion.
	Deleted bool `json:"deleted,omitempty"`
}

// NewPin is the body of POST /api/v0/pins.
type NewPin struct {
	// The agent to pin.
	AgentID string `json:"agent_id" minLength:"1"`
	// For people; at most 128 bytes.
	Name string `json:"name" required:"false"`
}

// NewApproval is the body of POST /api/v0/approvals.
type NewApproval struct {
	// Signed is a document of package wire/approval.
	Signed []byte `json:"signed" minLength:"1"`
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
	// ID is what the document says.
	ID string `json:"id"`
	// The server's, for people.
	Name string `json:"name"`
	// Digest of the definition that is approved.
	Definition string `json:"definition"`
	// Agents are the ids of those that it is for; empty: all.
	Agents []string `json:"agents"`
	// That of the key that is said to have signed it.
	KeyID string `json:"key_id"`
	// IssuedAt is when it was signed.
	IssuedAt time.Time `json:"issued_at"`
	// ExpiresAt is when it ends.
	ExpiresAt time.Time `json:"expires_at"`

	// Agents get those that are live.
	State ApprovalState `json:"state"`
	// AddedBy is the id of the token with which it was added.
	AddedBy string `json:"added_by"`
	// AddedAt is when it was added.
	AddedAt time.Time `json:"added_at"`
	// RevokedAt is when it was revoked; null while it isn't.
	RevokedAt *time.Time `json:"revoked_at"`
	// Signed is the document, with its signature.
	Signed []byte `json:"signed"`
}

// SearchResult is what was found.
type SearchResult struct {
	// Hits are those that match.
	Hits []Hit `json:"hits"`
	// More says that there is more than was asked for.
	More bool `json:"more"`
}

// HitPlugin is the kind of a Hit that is a plugin which fails.
const HitPlugin = "plugin"

// Hit is something that an agent has: a resource, or a plugin that fails.
type Hit struct {
	// AgentID is who has it.
	AgentID string `json:"agent_id"`
	ID      string `json:"id"`   // of the resource; empty for a plugin
	Kind    string `json:"kind"` // of the resource, or HitPlugin
	// Name is what it is called.
	Name string `json:"name"`
	// Source is where it is from.
	Source string `json:"source"`
	// Status is the resource's, or the plugin's state.
	Status string `json:"status"`
	Hash   string `json:"hash"` // SHA-256, hexadecimal
}

// Enrollment is the body of POST /api/v0/enroll. Whoever enrolls makes the token, of
// the form of an agent's, and keeps it.
type Enrollment struct {
	TokenSHA256 string `json:"token_sha256" pattern:"^[0-9a-fA-F]{64}$"` // hexadecimal
	Name        string `json:"name"`                                     // for people
}

// Enrolled is the answer: which agent it is now.
type Enrolled struct {
	// AgentID is who it is now.
	AgentID string `json:"agent_id"`
	// TokenID names its token.
	TokenID string `json:"token_id"`
}

// Login is a way into the hub's page.
type Login struct {
	// URL works once. Whoever has it can read what the token shows: it is a secret.
	URL string `json:"url"`
	// ExpiresAt is when it doesn't work any more.
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
	// AgentID is the agent.
	AgentID string `json:"agent_id"`
	// Revision is what the push has made.
	Revision int64 `json:"revision" minimum:"0"`
	// Version is that of the snapshot, as the agent counts.
	Version uint64 `json:"version" minimum:"0"`
	// AggregateHash is that of the snapshot.
	AggregateHash snapshot.Hash `json:"aggregate_hash"`
	// Discovery is that of the snapshot, in short. What it says of a source changes
	// without any resource, too.
	Discovery snapshot.Summary `json:"discovery"`
	// Changed are the ids of resources that differ, at most a hundred; More
	// counts those that aren't named.
	Changed []string `json:"changed" maxItems:"100"`
	// How many more there are than `changed` names.
	More int `json:"more,omitempty" minimum:"0"`
	// At is when the push came; Counts say what became of the resources, and
	// FailingPlugins how many plugins fail now.
	At time.Time `json:"at"`
	// How many resources it has added, changed and removed; where several pushes are told as
	// one, all that they touched counts as changed.
	Counts Counts `json:"counts"`
	// How many plugins fail now.
	FailingPlugins int `json:"failing_plugins" minimum:"0"`
}

// Counts say of resources what a push has done.
type Counts struct {
	// Added counts resources that are new.
	Added int `json:"added" minimum:"0"`
	// Changed counts resources that are other ones now.
	Changed int `json:"changed" minimum:"0"`
	// Removed counts resources that are gone.
	Removed int `json:"removed" minimum:"0"`
}

// ResetEvent says that the position that was asked for isn't kept any more,
// or lies in the future: whoever keeps a copy of something reads it again.
type ResetEvent struct {
	// For people.
	Reason string `json:"reason"`
}
