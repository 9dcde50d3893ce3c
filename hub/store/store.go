package store

import (
	"context"
	"fmt"
	"time"

	"waymark/internal/credential"
	"waymark/snapshot"
)

// Store stores a hub's state. Times that it returns are UTC, in whole microseconds; the
// zero time means "never".
//
// # Errors
//
// Something that doesn't exist is a *NotFoundError, which matches ErrNotFound. The methods
// name the other sentinel errors of this package that they return. After Close all methods
// fail.
type Store interface {
	// CreateToken adds a token and, for an agent's token, the agent if it doesn't exist
	// yet. A non-empty name replaces the agent's name. For an agent's token, an empty
	// AgentID makes a new UUID. If the hash exists already, the error is ErrTokenExists.
	CreateToken(ctx context.Context, token NewToken) (Token, error)
	// TokenByHash returns the token with this hash, even a revoked one.
	TokenByHash(ctx context.Context, hash credential.Hash) (Token, error)
	// TouchToken sets the token's LastUsedAt to now.
	TouchToken(ctx context.Context, id string) error
	// Tokens lists all tokens, oldest first.
	Tokens(ctx context.Context) ([]Token, error)
	// ValidTokens returns those of ids whose tokens exist and are neither revoked nor
	// expired, in any order.
	ValidTokens(ctx context.Context, ids []string) ([]string, error)
	// RevokeToken revokes a token permanently. Revoking it again changes nothing.
	RevokeToken(ctx context.Context, id string) error
	// SyncProvisioned makes tokens the only provisioned ones, in one transaction: it adds
	// missing ones and removes provisioned tokens that are not among them. A revoked token
	// among them stays revoked. Tokens made by CreateToken aren't affected; a hash of one
	// of them is ErrTokenExists.
	SyncProvisioned(ctx context.Context, tokens []NewToken) error

	Sessions
	Enrollments
	Webhooks

	// Agents lists all agents in byte order of their ids.
	Agents(ctx context.Context) ([]AgentInfo, error)
	// Agent returns an agent.
	Agent(ctx context.Context, id string) (AgentInfo, error)
	// BeginSession returns the next generation for a session of the agent, above all
	// earlier ones, across restarts and hubs. Nothing else changes: the session takes over
	// with its first accepted push, so that the session of an agent that is long gone can't
	// lock out a living one.
	BeginSession(ctx context.Context, agentID string) (generation int64, err error)
	// DescribeAgent stores what an agent says about itself. Invalid texts are ErrInvalid.
	DescribeAgent(ctx context.Context, id string, d AgentDescription) error
	// SeenAgents sets the SeenAt of the existing agents among ids to now.
	SeenAgents(ctx context.Context, ids []string) error
	// LabelAgent sets and removes labels of an agent, and returns the resulting ones.
	// Invalid labels are ErrInvalid.
	LabelAgent(ctx context.Context, id string, set Labels, remove []string) (Labels, error)
	// Labeled lists, in byte order, the ids of agents with all of the labels.
	Labeled(ctx context.Context, labels Labels) ([]string, error)
	// Push replaces or changes the agent's snapshot, in one transaction. The rules apply in
	// this order:
	//
	//   1. What CheckPush refuses is ErrInvalid.
	//   2. A generation below that of the last accepted push, or one that was never given out, is
	//      ErrSuperseded, whatever the versions are.
	//   3. A push whose version isn't above the stored one is not accepted, without an error, unless
	//      it is initial, or an Update and the first one of its session.
	//   4. An Update whose base isn't stored, or that removes something that isn't, is ErrFullNeeded.
	//   5. A stored payload of another size than in Bodies, more than MaxResources, MaxPayload or
	//      MaxRows, and a result whose name differs from the push's are ErrInvalid.
	//   6. If payloads are missing, the push is not accepted, without an error.
	//
	// A push that is refused or not accepted changes nothing.
	Push(ctx context.Context, agentID string, generation int64, push Push) (PushResult, error)
	// Upload stores payloads that an agent will name in a push, at least for UploadsFor.
	Upload(ctx context.Context, agentID string, payloads [][]byte) error

	// Snapshot returns an agent's current or earlier snapshot, with the resources in byte
	// order of their ids. For an agent that never pushed the error is ErrNotFound.
	Snapshot(ctx context.Context, q Query) (StoredSnapshot, error)
	// ResourceBody returns the payload of a resource. If the resource has none, the error
	// is ErrNotFound; an empty payload is a payload.
	ResourceBody(ctx context.Context, q Query, resourceID string) ([]byte, error)
	// Search finds something in the agents' newest snapshots, and returns at most q.Limit
	// hits in byte order of the agents' ids. What SearchQuery.Check refuses is ErrInvalid.
	Search(ctx context.Context, q SearchQuery) ([]Hit, error)
	// History lists the stored revisions of an agent, newest first.
	History(ctx context.Context, agentID string) ([]Change, error)
	// Diff returns the differences between two revisions, in byte order of the resources'
	// ids. Revisions are those of a Query, 0 for the newest; from may be the later one.
	Diff(ctx context.Context, agentID string, from, to int64) ([]ResourceChange, error)

	// RemoveAgent removes an agent with its tokens, snapshot and history; its sessions
	// can't push any more. Its pins stay. A file of provisioned tokens that still names the
	// agent creates it again, empty.
	RemoveAgent(ctx context.Context, id string) error

	// Changes lists at most limit stored revisions of all agents above after, rising.
	// Revisions become visible in order: once one is visible, no lower one will appear.
	Changes(ctx context.Context, after int64, limit int) ([]Change, error)
	// Wait blocks while after is the newest revision, and returns the newest. A result
	// below after means that the database was reset, for example to a backup, and that a
	// reader must start again. If the connection to the database is lost, Wait only takes
	// longer; it fails when ctx ends and, with ErrClosed, when the store is closed.
	Wait(ctx context.Context, after int64) (revision int64, err error)

	Pins
	Approvals

	// Prune drops what the retention doesn't keep, for agents that have stopped pushing; a
	// push does it for its own agent. It also drops uploaded payloads that were never
	// named. Stores prune themselves every hour.
	Prune(ctx context.Context) error
	// Close waits for operations in progress. It may be called twice.
	Close() error
}

// AgentInfo is an agent with a summary of its newest snapshot.
type AgentInfo struct {
	ID        string
	Name      string
	CreatedAt time.Time

	// The fields from Version to UpdatedAt are zero until the agent's first accepted push.
	Version       uint64
	AggregateHash snapshot.Hash
	Resources     int
	// Revision is the store-wide revision of the last push that changed something.
	Revision int64
	// UpdatedAt is the time of the last accepted push.
	UpdatedAt time.Time
	// Discovery is pending until the first accepted push.
	Discovery snapshot.Summary
	// SnapshotError is that of the newest snapshot.
	SnapshotError string
	// FailingPlugins is the number in the newest snapshot, DriftedPins the number of the
	// agent's drifted pins.
	FailingPlugins, DriftedPins int

	AgentDescription
	// Labels are assigned by operators; nil for none. Don't modify the map.
	Labels Labels
	// SeenAt is when a hub last knew a connection of the agent. For a connected agent it
	// may be minutes old.
	SeenAt time.Time
}

// AgentDescription is what an agent says about itself, only for people. Old agents say
// nothing.
type AgentDescription struct {
	Hostname     string
	Root         string // the workspace's directory
	AgentVersion string
}

// Check reports whether every store can hold the description.
func (d *AgentDescription) Check() error {
	if notText(d.Hostname) || notText(d.Root) || notText(d.AgentVersion) {
		return fmt.Errorf("%w: what an agent says of itself is not UTF-8 without NUL", ErrInvalid)
	}
	return nil
}

// Presence is implemented by stores that several hubs may share. It tells each which agents
// are connected to the others. Published state expires, so that a killed hub isn't believed
// forever.
type Presence interface {
	// Present publishes the agents that are connected to a hub, for ttl. It replaces what
	// the hub has published before; without agents it withdraws that.
	Present(ctx context.Context, hub PresentHub, agents []PresentAgent, ttl time.Duration) error
	// Elsewhere lists, in byte order of their ids, the agents that are connected to hubs
	// other than this one. An agent that is connected to several is listed once for each.
	Elsewhere(ctx context.Context, hub string) ([]PresentAgent, error)
}

// PresentHub is one of several hubs with the same store.
type PresentHub struct {
	ID string
	// URL is the hub's address for the others; empty disables access.
	URL string
	// Secret authenticates the others to this hub. It is new with each start. Whoever can
	// read it in the store can read everything else there, too.
	Secret string
}

// PresentAgent is what a hub publishes about a connected agent.
type PresentAgent struct {
	ID string `json:"id"`
	// Hub is the agent's hub, in a result of Elsewhere.
	Hub PresentHub `json:"-"`
	// Generation is that of the session whose push was accepted last; 0 while none was. Run
	// is the id of that session's run, in hexadecimal; empty if the agent doesn't report
	// it.
	Generation int64  `json:"generation,omitempty"`
	Run        string `json:"run,omitempty"`
	// NotHeard is the number of connections that were told that another agent with the same
	// token has taken over.
	NotHeard int `json:"not_heard,omitempty"`
}
