// Package api has what both ends of the hub's API for readers share: the JSON
// types. Package server is the end that serves and describes it, package client the one
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
	// AgentID is whose snapshot it is.
	AgentID string `json:"agent_id"`
	// Revision is that of the snapshot.
	Revision int64 `json:"revision" minimum:"0"`
	// Pieces are in the order of the text.
	Pieces []Piece `json:"pieces"`
	// LeftOut had no room in the budget.
	LeftOut []LeftOut `json:"left_out"`
	// ReadByClient is how many the client reads by itself.
	ReadByClient int `json:"read_by_client" minimum:"0"`
	// Tokens is about how long the text is as Markdown, as bytes by four.
	Tokens int `json:"tokens" minimum:"0"`
}

// Piece is what a text has of one resource.
type Piece struct {
	// ID is that of the resource.
	ID string `json:"id"`
	// Kind is that of the resource.
	Kind string `json:"kind"`
	// Source is where it comes from, as in the snapshot.
	Source string `json:"source"`
	// Digest is SHA-256 of the content, in hexadecimal; empty where there is none.
	Digest snapshot.Hash `json:"digest"`
	// Text is Markdown: what the workspace wrote is fenced or escaped.
	Text string `json:"text"`
}

// LeftOut is a resource that had no room.
type LeftOut struct {
	// ID is that of the resource.
	ID string `json:"id"`
	// Source is where it comes from, as in the snapshot.
	Source string `json:"source"`
	// SizeBytes is how long its whole content is.
	SizeBytes int64 `json:"size_bytes" minimum:"0"`
}

// CapabilityHeader is the header in which a chat server shows what an agent has minted for
// a chat, to have tools called there.
const CapabilityHeader = "Waymark-Capability"

// Agent is one agent and the head of its newest snapshot.
type Agent struct {
	// ID names it in paths and everywhere else.
	ID string `json:"id"`
	// Name is for people; may be empty.
	Name string `json:"name"`
	// Connected says whether it has a connection now, to this hub or, some seconds ago,
	// to another over the same database.
	Connected bool `json:"connected"`
	// Version is that of its newest snapshot, as the agent counts; 0 until it has pushed.
	Version uint64 `json:"version"`
	// AggregateHash is that of its newest snapshot; empty until it has pushed.
	AggregateHash snapshot.Hash `json:"aggregate_hash"`
	// Resources is how many its newest snapshot has.
	Resources int `json:"resources" minimum:"0"`
	// Revision is the one that made its newest snapshot; 0 until it has pushed.
	Revision int64 `json:"revision" minimum:"0"`
	// UpdatedAt is when a push last came; nil until the agent has pushed.
	UpdatedAt *time.Time `json:"updated_at"`
	// Discovery says in short whether more is still to come. It is pending until the
	// agent has pushed. An agent of an older version, which doesn't say so, counts as
	// complete.
	Discovery snapshot.Summary `json:"discovery"`
	// Hostname is that of the agent's machine. Like Root and AgentVersion, the agent says it
	// of itself; empty for older agents.
	Hostname string `json:"hostname"`
	// Root is the workspace's directory.
	Root string `json:"root"`
	// AgentVersion is the program's.
	AgentVersion string `json:"agent_version"`
	// Labels are given by operators.
	Labels map[string]string `json:"labels"`
	// State says whether the agent is there.
	State AgentState `json:"state"`
	// AwaySince is nil unless State is `away`. Of an agent whose hub was killed it may be
	// five minutes early.
	AwaySince *time.Time `json:"away_since"`
	// LastPushAt is as UpdatedAt.
	LastPushAt *time.Time `json:"last_push_at"`
	// FailingPlugins is how many of its plugins fail, are quarantined or rejected.
	FailingPlugins int `json:"failing_plugins" minimum:"0"`
	// DriftedPins is how many pins of it hold something else than it has.
	DriftedPins int `json:"drifted_pins" minimum:"0"`
	// Attention says why somebody should look, and is empty where there is no reason:
	// `away` and `never_connected` (for a quarter of an hour), `not_heard`,
	// `snapshot_error`, `failing_plugins`, `drifted_pins`, or a word of a newer hub.
	Attention []string `json:"attention"`
	// NotHeard is how many more agents are connected with its token, and aren't heard
	// since this one has taken over from them. Each should have a token of its own.
	NotHeard int `json:"not_heard" minimum:"0"`
	// Removed is there in events: there is no such agent any more.
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
	// ReceivedAt is when the push came that made it.
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

// Change is one revision of an agent, against the one before it: a push that changed
// something.
type Change struct {
	// Revision is the hub-wide one.
	Revision int64 `json:"revision" minimum:"0"`
	// Version is as the agent counts.
	Version uint64 `json:"version"`
	// AggregateHash is that of the snapshot.
	AggregateHash snapshot.Hash `json:"aggregate_hash"`
	// At is when the push came.
	At time.Time `json:"at"`
	// Discovery is that of the snapshot, in short.
	Discovery snapshot.Summary `json:"discovery"`
	Counts
	// FailingPlugins is how many plugins of the snapshot fail.
	FailingPlugins int `json:"failing_plugins" minimum:"0"`
}

// Diff is what became different from one revision of an agent to another.
type Diff struct {
	// AgentID is the agent that it is about.
	AgentID string `json:"agent_id"`
	// From is the revision that was compared with another.
	From int64 `json:"from" minimum:"0"`
	// To is that other one; 0: the agent has nothing.
	To int64 `json:"to" minimum:"0"`
	// Changes are in order of the resources' ids.
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
	// Before is nil where it was added.
	Before *snapshot.Resource `json:"before"`
	// After is nil where it was removed.
	After *snapshot.Resource `json:"after"`
	// Diff is a unified diff of the text; empty where there is none to show.
	Diff string `json:"diff"`
	// DiffNote says why there is none; empty where there is one.
	DiffNote string `json:"diff_note"`
}

// Pin is a snapshot that a consumer holds on to, whatever the agent pushes.
type Pin struct {
	// ID names it in paths.
	ID string `json:"id"`
	// AgentID is whose snapshot it holds.
	AgentID string `json:"agent_id"`
	// Name is for people.
	Name string `json:"name"`
	// Revision is what is pinned; 0 means that the pin is empty, since the agent has
	// not pushed yet.
	Revision int64 `json:"revision" minimum:"0"`
	// AggregateHash is that of what is pinned; empty for an empty pin.
	AggregateHash snapshot.Hash `json:"aggregate_hash"`
	// CreatedAt is when the pin was made.
	CreatedAt time.Time `json:"created_at"`
	// PinnedAt is when the pin got what it has; nil for an empty pin.
	PinnedAt *time.Time `json:"pinned_at"`
	// DriftedAt is when a push first came whose hash differs; nil while none has, since
	// the last refresh, which alone clears it.
	DriftedAt *time.Time `json:"drifted_at"`
	// DriftRevision is that of this push, or 0.
	DriftRevision int64 `json:"drift_revision" minimum:"0"`
	// AgentGone says that the agent was removed.
	AgentGone bool `json:"agent_gone"`
	// Deleted is there in events: the pin was deleted.
	Deleted bool `json:"deleted,omitempty"`
}

// NewPin is the body of POST /api/v0/pins.
type NewPin struct {
	// AgentID is the agent to pin.
	AgentID string `json:"agent_id" minLength:"1"`
	// Name is for people; at most 128 bytes.
	Name string `json:"name" required:"false" default:""`
}

// NewApproval is the body of POST /api/v0/approvals.
type NewApproval struct {
	// Signed is what `hub approvals sign` wrote, in base64, at most 16 KiB of it.
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
	// ID names it, in its document and in paths.
	ID string `json:"id"`
	// Name is the server's, for people.
	Name string `json:"name"`
	// Definition is the digest of the definition that is approved.
	Definition string `json:"definition"`
	// Agents are the ids of those that it is for; empty: all.
	Agents []string `json:"agents"`
	// KeyID is that of the key that is said to have signed it.
	KeyID string `json:"key_id"`
	// IssuedAt is when it was signed.
	IssuedAt time.Time `json:"issued_at"`
	// ExpiresAt is when it ends.
	ExpiresAt time.Time `json:"expires_at"`

	// State says whether agents get it: those that are live.
	State ApprovalState `json:"state"`
	// AddedBy is the id of the token with which it was added.
	AddedBy string `json:"added_by"`
	// AddedAt is when it was added.
	AddedAt time.Time `json:"added_at"`
	// RevokedAt is when it was revoked; nil while it isn't.
	RevokedAt *time.Time `json:"revoked_at"`
	// Signed is the document itself, in base64.
	Signed []byte `json:"signed"`
}

// SearchResult is what was found.
type SearchResult struct {
	// Hits are in byte order of the agents' ids.
	Hits []Hit `json:"hits"`
	// More says that there is more than was asked for.
	More bool `json:"more"`
}

// HitPlugin is the kind of a Hit that is a plugin which fails.
const HitPlugin = "plugin"

// Hit is something that an agent has: a resource, or a plugin that fails.
type Hit struct {
	// AgentID is the agent that has it.
	AgentID string `json:"agent_id"`
	// ID is that of the resource; empty for a plugin.
	ID string `json:"id"`
	// Kind is that of the resource, or `plugin` for one that fails.
	Kind string `json:"kind"`
	// Name is that of the resource or plugin.
	Name string `json:"name"`
	// Source is where it comes from: the resource's source, or the plugin's file.
	Source string `json:"source"`
	// Status is that of the resource, or the state of the plugin.
	Status string `json:"status"`
	// Hash is SHA-256, in hexadecimal; empty where there is none.
	Hash string `json:"hash"`
}

// Enrollment is the body of POST /api/v0/enroll. Whoever enrolls makes the token, of
// the form of an agent's, and keeps it.
type Enrollment struct {
	// TokenSHA256 is that of the token's text, in hexadecimal.
	TokenSHA256 string `json:"token_sha256" pattern:"^[0-9a-fA-F]{64}$"`
	// Name is for people; may be empty.
	Name string `json:"name"`
}

// Enrolled is the answer: which agent it is now.
type Enrolled struct {
	// AgentID is that of the agent that was made.
	AgentID string `json:"agent_id"`
	// TokenID names its token; it isn't the token.
	TokenID string `json:"token_id"`
}

// Login is a way into the hub's page.
type Login struct {
	// URL works once. Whoever has it can read what the token shows: it is a secret.
	URL string `json:"url" format:"uri"`
	// ExpiresAt is when it ends if nobody has used it.
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
	// Revision is the one that made the snapshot.
	Revision int64 `json:"revision" minimum:"0"`
	// Version is as the agent counts.
	Version uint64 `json:"version"`
	// AggregateHash is that of the snapshot.
	AggregateHash snapshot.Hash `json:"aggregate_hash"`
	// Discovery is that of the snapshot, in short. What it says of a source changes
	// without any resource, too.
	Discovery snapshot.Summary `json:"discovery"`
	// Changed are the ids of the resources that were added, changed or removed, in order.
	Changed []string `json:"changed" maxItems:"100"`
	// More is how many more there are than Changed names.
	More int `json:"more,omitempty" minimum:"0"`
	// At is when the push came.
	At time.Time `json:"at"`
	// Counts say what the push has done. Where several are told as one, all that they
	// touched counts as changed.
	Counts Counts `json:"counts"`
	// FailingPlugins is how many plugins fail now.
	FailingPlugins int `json:"failing_plugins" minimum:"0"`
}

// Counts say of resources what a push has done.
type Counts struct {
	// Added is how many are new.
	Added int `json:"added" minimum:"0"`
	// Changed is how many are different.
	Changed int `json:"changed" minimum:"0"`
	// Removed is how many are gone.
	Removed int `json:"removed" minimum:"0"`
}

// ResetEvent says that the position that was asked for isn't kept any more,
// or lies in the future: whoever keeps a copy of something reads it again.
type ResetEvent struct {
	// Reason is for people.
	Reason string `json:"reason"`
}
