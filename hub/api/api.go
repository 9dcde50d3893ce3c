// Package api has the JSON types that both ends of the hub's API for readers share. Package
// server serves and describes the API, package client calls it.
package api

import (
	"time"

	"waymark/internal/clientview"
	"waymark/snapshot"
)

// Root is the path prefix of all routes.
const Root = "/api/v0"

// Pieces answers ?format=pieces: the parts of the text of ?format=markdown, for clients
// that assemble their own.
type Pieces struct {
	// AgentID is the agent of the snapshot.
	AgentID string `json:"agent_id"`
	// Revision is the revision of the snapshot.
	Revision int64 `json:"revision" minimum:"0"`
	// Pieces are the parts in the order of the text.
	Pieces []Piece `json:"pieces"`
	// LeftOut are resources that didn't fit into the budget.
	LeftOut []LeftOut `json:"left_out"`
	// ReadByClient is the number of resources that the client reads itself.
	ReadByClient int `json:"read_by_client" minimum:"0"`
	// Tokens is the approximate length of the Markdown text in tokens of four bytes.
	Tokens int `json:"tokens" minimum:"0"`
}

// Piece is the part of the text about one resource.
type Piece struct {
	// ID is the id of the resource.
	ID string `json:"id"`
	// Kind is the kind of the resource.
	Kind string `json:"kind"`
	// Source is the resource's source, as in the snapshot.
	Source string `json:"source"`
	// Digest is the SHA-256 of the content, in hexadecimal; empty if there is none.
	Digest snapshot.Hash `json:"digest"`
	// Text is Markdown, in which text from the workspace is fenced or escaped.
	Text string `json:"text"`
}

// LeftOut is a resource that didn't fit.
type LeftOut struct {
	// ID is the id of the resource.
	ID string `json:"id"`
	// Source is the resource's source, as in the snapshot.
	Source string `json:"source"`
	// SizeBytes is the length of its complete content.
	SizeBytes int64 `json:"size_bytes" minimum:"0"`
}

// CapabilityHeader is the header with a chat's capability, which an agent has minted, for
// calling tools.
const CapabilityHeader = "Waymark-Capability"

// Agent is an agent with a summary of its newest snapshot.
type Agent struct {
	// ID identifies the agent in paths and everywhere else.
	ID string `json:"id"`
	// Name is for people; it may be empty.
	Name string `json:"name"`
	// Connected says whether the agent has a connection to this hub now, or had one some
	// seconds ago to another hub with the same database.
	Connected bool `json:"connected"`
	// Version is the agent's version of its newest snapshot; 0 until it has pushed.
	Version uint64 `json:"version"`
	// AggregateHash is the hash of its newest snapshot; empty until it has pushed.
	AggregateHash snapshot.Hash `json:"aggregate_hash"`
	// Resources is the number of resources in its newest snapshot.
	Resources int `json:"resources" minimum:"0"`
	// Revision is the revision of its newest snapshot; 0 until it has pushed.
	Revision int64 `json:"revision" minimum:"0"`
	// UpdatedAt is the time of the last push; null until the agent has pushed.
	UpdatedAt *time.Time `json:"updated_at"`
	// Discovery says whether more is to be expected. It is pending until the agent has
	// pushed. Old agents, which don't report it, count as complete.
	Discovery snapshot.Summary `json:"discovery"`
	// Hostname is the name of the agent's machine. Like Root and AgentVersion, it is
	// reported by the agent; empty for old agents.
	Hostname string `json:"hostname"`
	// Root is the workspace's directory.
	Root string `json:"root"`
	// AgentVersion is the version of the agent's program.
	AgentVersion string `json:"agent_version"`
	// Labels are assigned by operators.
	Labels map[string]string `json:"labels"`
	// State says whether the agent is connected.
	State AgentState `json:"state"`
	// AwaySince is null unless State is `away`. If the agent's hub was killed, it may be
	// five minutes too early.
	AwaySince *time.Time `json:"away_since"`
	// LastPushAt is the same as UpdatedAt.
	LastPushAt *time.Time `json:"last_push_at"`
	// FailingPlugins is the number of its plugins that fail, are quarantined or rejected.
	FailingPlugins int `json:"failing_plugins" minimum:"0"`
	// DriftedPins is the number of its pins that have drifted.
	DriftedPins int `json:"drifted_pins" minimum:"0"`
	// Attention has reasons why somebody should look at the agent: `away` and
	// `never_connected` (after a quarter of an hour), `not_heard`, `snapshot_error`,
	// `failing_plugins`, `drifted_pins`, or a word of a newer hub. It is empty if there are
	// none.
	Attention []string `json:"attention"`
	// NotHeard is the number of other agents that are connected with the same token, and
	// are ignored since this one has taken over. Each should have its own token.
	NotHeard int `json:"not_heard" minimum:"0"`
	// Removed is set in events: the agent was removed.
	Removed bool `json:"removed,omitempty"`
}

// AgentState says whether an agent is connected.
type AgentState string

// The states of an agent.
const (
	StateConnected      AgentState = "connected"
	StateAway           AgentState = "away"
	StateNeverConnected AgentState = "never_connected"
)

// Values of Agent.Attention. After a quarter of an hour, an agent's state is there, too, if
// it is away or has never connected.
const (
	AttentionNotHeard = "not_heard"       // other agents have the same token
	AttentionSnapshot = "snapshot_error"  // the snapshot as a whole has a problem
	AttentionPlugins  = "failing_plugins" // FailingPlugins isn't 0
	AttentionPins     = "drifted_pins"    // DriftedPins isn't 0
)

// Snapshot is a current or earlier snapshot of an agent, without payloads.
type Snapshot struct {
	snapshot.Snapshot
	// AgentID is the agent of the snapshot.
	AgentID string `json:"agent_id"`
	// ReceivedAt is the time of its push.
	ReceivedAt time.Time `json:"received_at"`
	// Revision is the hub-wide revision of its push.
	Revision int64 `json:"revision" minimum:"0"`
	// Away says that discovery is pending and the agent isn't connected, so that it won't
	// complete before the agent is back. It is never set for a snapshot that was requested
	// by revision or pin.
	Away bool `json:"away,omitempty"`
}

// ClientContext is what a coding agent would see if it were started in the agent's working
// directory, according to the agent.
type ClientContext = clientview.Answer

// Coverage lists the files in places that agents read which aren't used, according to an
// agent.
type Coverage = clientview.Coverage

// Change is a revision of an agent compared with the previous one: a push that changed
// something.
type Change struct {
	// Revision is the hub-wide revision.
	Revision int64 `json:"revision" minimum:"0"`
	// Version is the agent's version of the snapshot.
	Version uint64 `json:"version"`
	// AggregateHash is the hash of the snapshot.
	AggregateHash snapshot.Hash `json:"aggregate_hash"`
	// At is the time of the push.
	At time.Time `json:"at"`
	// Discovery is the snapshot's discovery, in short.
	Discovery snapshot.Summary `json:"discovery"`
	Counts
	// FailingPlugins is the number of failing plugins in the snapshot.
	FailingPlugins int `json:"failing_plugins" minimum:"0"`
}

// Diff is the difference between two revisions of an agent.
type Diff struct {
	// AgentID is the agent.
	AgentID string `json:"agent_id"`
	// From is the first revision.
	From int64 `json:"from" minimum:"0"`
	// To is the revision that it was compared with; 0 means that the agent has nothing.
	To int64 `json:"to" minimum:"0"`
	// Changes are ordered by the ids of the resources.
	Changes []ResourceDiff `json:"changes"`
}

// Kinds of changes of a resource.
const (
	Added   = "added"
	Changed = "changed"
	Removed = "removed"
)

// ResourceDiff is the change of a resource.
type ResourceDiff struct {
	// ID is the id of the resource.
	ID string `json:"id"`
	// Kind is the kind of the resource.
	Kind string `json:"kind"`
	// Change is the kind of the change.
	Change string `json:"change" enum:"added,changed,removed"`
	// Before is null if the resource was added.
	Before *snapshot.Resource `json:"before"`
	// After is null if the resource was removed.
	After *snapshot.Resource `json:"after"`
	// Diff is a unified diff of the text; empty if there is none to show.
	Diff string `json:"diff"`
	// DiffNote says why there is no Diff; empty if there is one.
	DiffNote string `json:"diff_note"`
}

// Pin is a snapshot that a consumer keeps, whatever the agent pushes later.
type Pin struct {
	// ID identifies the pin in paths.
	ID string `json:"id"`
	// AgentID is the agent of the pinned snapshot.
	AgentID string `json:"agent_id"`
	// Name is for people.
	Name string `json:"name"`
	// Revision is the pinned revision; 0 means that the pin is empty, because the agent has
	// not pushed yet.
	Revision int64 `json:"revision" minimum:"0"`
	// AggregateHash is the hash of the pinned snapshot; empty for an empty pin.
	AggregateHash snapshot.Hash `json:"aggregate_hash"`
	// CreatedAt is when the pin was made.
	CreatedAt time.Time `json:"created_at"`
	// PinnedAt is when the snapshot was pinned; null for an empty pin.
	PinnedAt *time.Time `json:"pinned_at"`
	// DriftedAt is the time of the first push with another hash since the last refresh;
	// null if there was none. Only a refresh clears it.
	DriftedAt *time.Time `json:"drifted_at"`
	// DriftRevision is the revision of that push, or 0.
	DriftRevision int64 `json:"drift_revision" minimum:"0"`
	// AgentGone says that the agent was removed.
	AgentGone bool `json:"agent_gone"`
	// Deleted is set in events: the pin was deleted.
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
	// Signed is the output of `hub approvals sign`, in base64; at most 16 KiB before
	// encoding.
	Signed []byte `json:"signed" minLength:"1"`
}

// ApprovalState says whether agents receive an approval.
type ApprovalState string

// The states of an approval.
const (
	ApprovalLive    ApprovalState = "live"
	ApprovalRevoked ApprovalState = "revoked"
	ApprovalExpired ApprovalState = "expired"
)

// Approval is a signed approval that the hub stores. Its content is from the document,
// whose signature the hub can't verify.
type Approval struct {
	// ID identifies the approval, in its document and in paths.
	ID string `json:"id"`
	// Name is the name of the MCP server, for people.
	Name string `json:"name"`
	// Definition is the digest of the approved definition.
	Definition string `json:"definition"`
	// Agents are the ids of the agents that it is for; empty means all.
	Agents []string `json:"agents"`
	// KeyID is the id of the key that, according to the document, has signed it.
	KeyID string `json:"key_id"`
	// IssuedAt is when it was signed.
	IssuedAt time.Time `json:"issued_at"`
	// ExpiresAt is when it expires.
	ExpiresAt time.Time `json:"expires_at"`

	// State says whether agents receive it: only if it is live.
	State ApprovalState `json:"state"`
	// AddedBy is the id of the token that added it.
	AddedBy string `json:"added_by"`
	// AddedAt is when it was added.
	AddedAt time.Time `json:"added_at"`
	// RevokedAt is when it was revoked; null if it wasn't.
	RevokedAt *time.Time `json:"revoked_at"`
	// Signed is the document, in base64.
	Signed []byte `json:"signed"`
}

// SearchResult is the result of a search.
type SearchResult struct {
	// Hits are ordered by agent id, in byte order.
	Hits []Hit `json:"hits"`
	// More says that there are more hits than requested.
	More bool `json:"more"`
}

// HitPlugin is the kind of a Hit for a failing plugin.
const HitPlugin = "plugin"

// Hit is a resource or a failing plugin of an agent.
type Hit struct {
	// AgentID is the agent.
	AgentID string `json:"agent_id"`
	// ID is the id of the resource; empty for a plugin.
	ID string `json:"id"`
	// Kind is the kind of the resource, or `plugin` for a failing plugin.
	Kind string `json:"kind"`
	// Name is the name of the resource or plugin.
	Name string `json:"name"`
	// Source is the resource's source, or the plugin's file.
	Source string `json:"source"`
	// Status is the status of the resource, or the state of the plugin.
	Status string `json:"status"`
	// Hash is the SHA-256, in hexadecimal; empty if there is none.
	Hash string `json:"hash"`
}

// Enrollment is the body of POST /api/v0/enroll. The client makes a token in the form of an
// agent's, and keeps it.
type Enrollment struct {
	// TokenSHA256 is the SHA-256 of the token's text, in hexadecimal.
	TokenSHA256 string `json:"token_sha256" pattern:"^[0-9a-fA-F]{64}$"`
	// Name is for people; it may be empty.
	Name string `json:"name"`
}

// Enrolled answers POST /api/v0/enroll.
type Enrolled struct {
	// AgentID is the id of the new agent.
	AgentID string `json:"agent_id"`
	// TokenID is the id of its token, not the token.
	TokenID string `json:"token_id"`
}

// Login is a link to the hub's page.
type Login struct {
	// URL works once. It is a secret: whoever has it can read what the token shows.
	URL string `json:"url" format:"uri"`
	// ExpiresAt is when it expires if it isn't used.
	ExpiresAt time.Time `json:"expires_at"`
}

// Types of events.
const (
	EventContext = "context"
	EventPin     = "pin"
	EventAgent   = "agent"
	EventReset   = "reset"
)

// ContextEvent says that an agent's snapshot has changed.
type ContextEvent struct {
	// AgentID is the agent.
	AgentID string `json:"agent_id"`
	// Revision is the revision of the snapshot.
	Revision int64 `json:"revision" minimum:"0"`
	// Version is the agent's version of the snapshot.
	Version uint64 `json:"version"`
	// AggregateHash is the hash of the snapshot.
	AggregateHash snapshot.Hash `json:"aggregate_hash"`
	// Discovery is the snapshot's discovery, in short. It may change without a change of
	// any resource.
	Discovery snapshot.Summary `json:"discovery"`
	// Changed are the ids, in order, of resources that were added, changed or removed.
	Changed []string `json:"changed" maxItems:"100"`
	// More is the number of ids that Changed omits.
	More int `json:"more,omitempty" minimum:"0"`
	// At is the time of the push.
	At time.Time `json:"at"`
	// Counts are the numbers of changes. If several pushes are combined into one event,
	// every resource that they touched counts as changed.
	Counts Counts `json:"counts"`
	// FailingPlugins is the number of plugins that fail now.
	FailingPlugins int `json:"failing_plugins" minimum:"0"`
}

// Counts are the numbers of resources that a push has changed.
type Counts struct {
	// Added is the number of added resources.
	Added int `json:"added" minimum:"0"`
	// Changed is the number of changed resources.
	Changed int `json:"changed" minimum:"0"`
	// Removed is the number of removed resources.
	Removed int `json:"removed" minimum:"0"`
}

// ResetEvent says that the requested position isn't available any more, or lies in the
// future. A client with a copy must read everything again.
type ResetEvent struct {
	// Reason is for people.
	Reason string `json:"reason"`
}
