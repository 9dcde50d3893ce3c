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
	// TouchTokens sets the LastUsedAt of those of the tokens that exist to now.
	TouchTokens(ctx context.Context, ids []string) error
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
	Audit

	// Agents lists all agents in byte order of their ids.
	Agents(ctx context.Context) ([]AgentInfo, error)
	// CountAgents counts them, in far less time than it takes to list them.
	CountAgents(ctx context.Context) (AgentCounts, error)
	// Agent returns an agent.
	Agent(ctx context.Context, id string) (AgentInfo, error)
	// FindAgents returns a page of the agents that match.
	FindAgents(ctx context.Context, q AgentQuery) (AgentPage, error)
	// MovedAgents lists the agents that have connected, disconnected or been superseded within
	// a time up to now, in any order.
	MovedAgents(ctx context.Context, within time.Duration) ([]AgentInfo, error)
	// BeginSession returns the next generation for a session of the agent at a hub, above all
	// earlier ones, across restarts and hubs. The agent is connected there from now on if the
	// hub has a lease. Which session's pushes count doesn't change: the new one takes over with
	// its first accepted push, so that the session of an agent that is long gone can't lock out
	// a living one.
	BeginSession(ctx context.Context, agentID, hub string) (generation int64, found Begun, err error)
	// DescribeAgents stores what agents, those of them that exist, say about themselves, by
	// their ids. Invalid texts are ErrInvalid.
	DescribeAgents(ctx context.Context, said map[string]AgentDescription) error
	// RenameAgent gives an agent another name, for people; "" for none. What isn't text of at
	// most 128 bytes is ErrInvalid.
	RenameAgent(ctx context.Context, id, name string) error
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

	Pins
	Approvals
	Following
	Presence

	// Writable returns nil if the store can write now. It doesn't wait behind what else is
	// asked of the store for longer than a write takes.
	Writable(ctx context.Context) error

	// Condition returns what may hold this hub or its readers up, although the store works.
	Condition(ctx context.Context) (Condition, error)

	// Prune drops what the retention doesn't keep, for agents that have stopped pushing; a
	// push does it for its own agent. It also drops uploaded payloads that were never
	// named. Stores prune themselves every hour.
	Prune(ctx context.Context) error
	// Close waits for operations in progress. It may be called twice.
	Close() error
}

// Condition is how the database and this machine go together.
type Condition struct {
	// Behind is how long events have been visible without being settled, because a
	// transaction that began before them goes on. Readers have them; they can't resume there.
	// It is measured from call to call. Holder says which transaction that is, if it is known.
	Behind time.Duration
	Holder string
	// ClockOff is how far the database's clock, which decides, is ahead of this machine's. With one
	// clock for both it is how far it has jumped back; then nothing is deleted for its age.
	ClockOff time.Duration
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
	// Revision is that of the last push that changed something.
	Revision int64
	// UpdatedAt is the time of the last accepted push.
	UpdatedAt time.Time
	// Discovery is pending until the first accepted push.
	Discovery snapshot.Summary
	// SnapshotError is that of the newest snapshot.
	SnapshotError string
	// InvalidResources is the number of those in the newest snapshot of which nothing, or
	// something old, was pushed, FailingPlugins that of its failing plugins, DriftedPins the
	// number of the agent's drifted pins.
	InvalidResources, FailingPlugins, DriftedPins int

	AgentDescription
	// Labels are assigned by operators; nil for none. Don't modify the map.
	Labels Labels
	// SeenAt is when the agent's last connection began or ended; zero for an agent that was
	// never connected.
	SeenAt time.Time
	// Connected says that the agent is connected to a hub with a lease. NotHeard is the number
	// of connections that know that another agent with the same token has taken over.
	Connected bool
	NotHeard  int
}

// AgentCounts are figures of all agents.
type AgentCounts struct {
	Agents int
	// Connected is the number of agents that are connected to any hub.
	Connected int
	// NeverSeen is the number of agents without a SeenAt.
	NeverSeen int
	// Attention has the number of agents for each reason.
	Attention map[Attention]int
}

// Begun is what a new session finds.
type Begun struct {
	// Elsewhere is the writer at another hub with a lease.
	Elsewhere Writer
	// Said is what the agent has last said about itself.
	Said AgentDescription
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
