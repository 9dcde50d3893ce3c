// Package api has the JSON types that both ends of the hub's API for readers share. Package
// server serves and describes the API, package client calls it.
package api

import (
	"time"

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
	// InvalidResources is the number of its resources of which nothing, or something old,
	// was pushed: their status isn't `ok`, or they are stale.
	InvalidResources int `json:"invalid_resources" minimum:"0"`
	// FailingServers is the number of its MCP servers that have failed.
	FailingServers int `json:"failing_servers" minimum:"0"`
	// WaitingServers is the number of its MCP servers that wait for an approval or an
	// authorization.
	WaitingServers int `json:"waiting_servers" minimum:"0"`
	// Attention has reasons why somebody should look at the agent: `away` and
	// `never_connected` (after a quarter of an hour), `not_heard`, `snapshot_error`,
	// `invalid_resources`, `failing_servers`, `waiting_servers`, `failing_plugins`,
	// `drifted_pins`, or a word of a newer hub. It is empty if there are none.
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

// Snapshot is a current or earlier snapshot of an agent, without payloads.
type Snapshot struct {
	snapshot.Snapshot
	// AgentID is the agent of the snapshot.
	AgentID string `json:"agent_id"`
	// ReceivedAt is the time of its push.
	ReceivedAt time.Time `json:"received_at"`
	// Revision is the revision of its push.
	Revision int64 `json:"revision" minimum:"0"`
	// Away says that discovery is pending and the agent isn't connected, so that it won't
	// complete before the agent is back. It is never set for a snapshot that was requested
	// by revision or pin.
	Away bool `json:"away,omitempty"`
}

// Change is a revision of an agent compared with the previous one: a push that changed
// something.
type Change struct {
	// Revision is the revision.
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

// Token is a token of an agent, a reader or an operator, without its text.
type Token struct {
	// ID identifies the token for people and in paths; it isn't secret.
	ID string `json:"id"`
	// Role is that of the token's holder.
	Role string `json:"role" enum:"agent,reader,operator"`
	// AgentID is the agent that an agent's token belongs to; empty for others.
	AgentID string `json:"agent_id"`
	// Name is for people; it may be empty.
	Name string `json:"name"`
	// Provisioned says that the token comes from a file of the hub (`--tokens`).
	Provisioned bool `json:"provisioned"`
	// Scope lists the agents that a reader's token shows. It is absent for a reader of all
	// agents, and for an agent.
	Scope []string `json:"scope,omitempty"`
	// ScopeLabels restrict a reader's token to agents with these labels.
	ScopeLabels map[string]string `json:"scope_labels,omitempty"`
	// EnrolledBy is the id of the code or key with which it was made.
	EnrolledBy string `json:"enrolled_by,omitempty"`
	// CreatedAt is when it was made.
	CreatedAt time.Time `json:"created_at"`
	// LastUsedAt is when it was last used, to a minute; null if it never was.
	LastUsedAt *time.Time `json:"last_used_at"`
	// ExpiresAt is null for a token that doesn't expire.
	ExpiresAt *time.Time `json:"expires_at"`
	// RevokedAt is null unless it was revoked.
	RevokedAt *time.Time `json:"revoked_at"`
}

// NewToken is the body of POST /api/v0/tokens. The client makes the token's text, in the
// form of the role's tokens, and keeps it.
type NewToken struct {
	// TokenSHA256 is the SHA-256 of the token's text, in hexadecimal.
	TokenSHA256 string `json:"token_sha256" pattern:"^[0-9a-fA-F]{64}$"`
	// Role is that of the token's holder.
	Role string `json:"role" enum:"agent,reader,operator"`
	// AgentID is the agent of an agent's token, which is made if it doesn't exist; empty
	// means a new one with a random id.
	AgentID string `json:"agent_id,omitempty"`
	// Name is for people, of the token and its agent.
	Name string `json:"name,omitempty"`
	// Scope lists the agents that a reader's token shows; null means all.
	Scope []string `json:"scope,omitempty"`
	// ScopeLabels restrict a reader's token to agents with all of these labels.
	ScopeLabels map[string]string `json:"scope_labels,omitempty"`
	// ExpiresAt is when it expires; null means never.
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
}

// States of an EnrollmentKey.
const (
	EnrollmentValid   = "valid"
	EnrollmentUsed    = "used"
	EnrollmentExpired = "expired"
	EnrollmentRevoked = "revoked"
)

// EnrollmentKey is a code or a key with which agents enroll, without its text.
type EnrollmentKey struct {
	// ID identifies it for people and in paths; it isn't secret.
	ID string `json:"id"`
	// Name is for people; it may be empty.
	Name string `json:"name"`
	// AgentID is the agent that it makes; empty lets the hub choose.
	AgentID string `json:"agent_id"`
	// Labels are assigned to the agents.
	Labels map[string]string `json:"labels"`
	// Uses is how many agents have enrolled with it.
	Uses int `json:"uses" minimum:"0"`
	// MaxUses is how many may.
	MaxUses int `json:"max_uses" minimum:"1"`
	// CreatedAt is when it was made.
	CreatedAt time.Time `json:"created_at"`
	// ExpiresAt is when it expires.
	ExpiresAt time.Time `json:"expires_at"`
	// RevokedAt is null unless it was revoked.
	RevokedAt *time.Time `json:"revoked_at"`
	// State says whether it can be used.
	State string `json:"state" enum:"valid,used,expired,revoked"`
}

// NewEnrollmentKey is the body of POST /api/v0/enrollments. The client makes the code or
// key, and keeps it.
type NewEnrollmentKey struct {
	// KeySHA256 is the SHA-256 of the text without hyphens, in hexadecimal.
	KeySHA256 string `json:"key_sha256" pattern:"^[0-9a-fA-F]{64}$"`
	// Name is for people.
	Name string `json:"name,omitempty"`
	// AgentID is the agent that it makes, with max_uses 1; empty lets the hub choose.
	AgentID string `json:"agent_id,omitempty"`
	// Labels are assigned to the agents.
	Labels map[string]string `json:"labels,omitempty"`
	// MaxUses is how many agents may enroll with it.
	MaxUses int `json:"max_uses" minimum:"1"`
	// ExpiresAt is when it expires.
	ExpiresAt time.Time `json:"expires_at"`
}

// RevokedEnrollment answers DELETE /api/v0/enrollments/{id}.
type RevokedEnrollment struct {
	// Tokens is the number of agents' tokens that were revoked with it.
	Tokens int `json:"tokens" minimum:"0"`
}

// AgentChange is the body of PATCH /api/v0/agents/{id}.
type AgentChange struct {
	// Name is for people; at most 128 bytes, and may be empty.
	Name string `json:"name"`
}

// Act is an entry of the audit log: something that an operator did.
type Act struct {
	// ID identifies the entry.
	ID string `json:"id"`
	// At is when it was done.
	At time.Time `json:"at"`
	// By is the id of the operator's token, also of a browser that was signed in with it;
	// `database` is whoever works on the database itself.
	By string `json:"by"`
	// ByName is the name that the token had then.
	ByName string `json:"by_name"`
	// What was done, such as `token.created`.
	What string `json:"what"`
	// Subject is the id of what it was done to: a token, an agent, a code or key, a webhook
	// or an approval.
	Subject string `json:"subject"`
	// Detail is for people.
	Detail string `json:"detail"`
}

// LabelChange is the body of PATCH /api/v0/agents/{id}/labels, and its answer, which has
// all labels in Set.
type LabelChange struct {
	// Set are labels to set.
	Set map[string]string `json:"set,omitempty"`
	// Remove are names of labels to remove.
	Remove []string `json:"remove,omitempty"`
}

// Webhook is a URL that the hub reports to, without its secret.
type Webhook struct {
	// ID identifies it for people and in paths.
	ID string `json:"id"`
	// Name is for people; it may be empty.
	Name string `json:"name"`
	// URL is where messages are posted.
	URL string `json:"url"`
	// Types are the types of messages that it gets; empty means all.
	Types []string `json:"types"`
	// Insecure says that http:// is allowed.
	Insecure bool `json:"insecure"`
	// Private says that addresses of the hub's machine and private networks are allowed.
	Private bool `json:"private"`
	// CreatedAt is when it was made.
	CreatedAt time.Time `json:"created_at"`
	// Sent is the number of delivered messages.
	Sent int64 `json:"sent" minimum:"0"`
	// SentAt is when the last one was delivered; null if none was.
	SentAt *time.Time `json:"sent_at"`
	// Waiting is the number of messages to be sent.
	Waiting int `json:"waiting" minimum:"0"`
	// Dropped is the number of messages that were too old or too many.
	Dropped int64 `json:"dropped" minimum:"0"`
	// Failures is the number of failed attempts since the last success.
	Failures int `json:"failures" minimum:"0"`
	// LastError is the last attempt's error; empty if there was none.
	LastError string `json:"last_error"`
}

// NewWebhook is the body of POST /api/v0/webhooks.
type NewWebhook struct {
	// Name is for people.
	Name string `json:"name,omitempty"`
	// URL is where messages are posted.
	URL string `json:"url"`
	// Secret signs the messages: `whsec_` and base64, as Standard Webhooks has it.
	Secret string `json:"secret"`
	// Types are the types of messages that it gets; empty means all.
	Types []string `json:"types,omitempty"`
	// Insecure allows http://.
	Insecure bool `json:"insecure,omitzero"`
	// Private allows addresses of the hub's machine and private networks.
	Private bool `json:"private,omitzero"`
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
	EventEnd     = "end" // there is no more, for a reader that doesn't follow
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
