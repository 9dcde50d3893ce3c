package store

import (
	"context"
	"fmt"
	"time"

	"waymark/internal/credential"
	"waymark/snapshot"
)

// Store keeps a hub's state. Times that it returns are UTC, in whole
// microseconds; the zero time stands for "never".
//
// # Errors
//
// What doesn't exist is a *NotFoundError, matched by ErrNotFound. All other
// sentinel errors of this package are said at the methods that return them.
// After Close all methods fail.
type Store interface {
	// CreateToken adds a token and, for an agent's token, the agent if there
	// is none yet. A non-empty name replaces the agent's name. An empty
	// AgentID of an agent's token makes a new UUID. The same hash twice is
	// ErrTokenExists.
	CreateToken(ctx context.Context, token NewToken) (Token, error)
	// TokenByHash returns the token with the hash, revoked ones too.
	TokenByHash(ctx context.Context, hash credential.Hash) (Token, error)
	// TouchToken sets the token's LastUsedAt to now.
	TouchToken(ctx context.Context, id string) error
	// Tokens lists all tokens, the oldest first.
	Tokens(ctx context.Context) ([]Token, error)
	// ValidTokens returns those of ids whose tokens exist and are neither
	// revoked nor expired, in any order.
	ValidTokens(ctx context.Context, ids []string) ([]string, error)
	// RevokeToken makes the token invalid, for ever. Revoking a revoked token
	// changes nothing.
	RevokeToken(ctx context.Context, id string) error
	// SyncProvisioned makes tokens the only provisioned ones: it adds what is
	// missing and removes provisioned tokens that are not among them. A
	// revoked token that is still among them stays revoked. Tokens made by
	// CreateToken are left alone; a hash that is one of theirs is
	// ErrTokenExists. Everything or nothing is done.
	SyncProvisioned(ctx context.Context, tokens []NewToken) error

	Sessions
	Enrollments
	Webhooks

	// Agents lists all agents in byte order of their ids.
	Agents(ctx context.Context) ([]AgentInfo, error)
	// Agent returns one of them.
	Agent(ctx context.Context, id string) (AgentInfo, error)
	// BeginSession gives out the next generation for a session of the agent,
	// above all earlier ones, also across restarts and hubs. Nothing else
	// changes: the session takes over with its first accepted push, so that
	// one whose agent is long gone can't lock out the one that is there.
	BeginSession(ctx context.Context, agentID string) (generation int64, err error)
	// DescribeAgent writes down what an agent says of itself. Texts that no store
	// may hold are ErrInvalid.
	DescribeAgent(ctx context.Context, id string, d AgentDescription) error
	// SeenAgents sets the SeenAt of those of ids that exist to now.
	SeenAgents(ctx context.Context, ids []string) error
	// LabelAgent sets and removes labels of an agent, and returns those it has then.
	// ErrInvalid says that they wouldn't be what labels are.
	LabelAgent(ctx context.Context, id string, set Labels, remove []string) (Labels, error)
	// Labeled lists, in byte order, the ids of the agents that have all of the labels.
	Labeled(ctx context.Context, labels Labels) ([]string, error)
	// Push replaces or changes the agent's snapshot, in one transaction. The
	// rules apply in this order:
	//
	//  1. What CheckPush refuses is ErrInvalid.
	//  2. A generation below that of the last accepted push, or one that was
	//     never given out, is ErrSuperseded, whatever the versions are.
	//  3. A push whose version isn't above the stored one is not accepted, without an
	//     error, unless it is initial, or an Update and the first one of its session.
	//  4. An Update whose base isn't stored, or that removes what isn't, is ErrFullNeeded.
	//  5. A payload that is there in another size than Bodies says, more than
	//     MaxResources, MaxPayload or MaxRows, and everything with a name that it
	//     hasn't, is ErrInvalid.
	//  6. Where payloads are missing, the push is not accepted, without an error.
	//
	// Whatever is refused or not accepted changes nothing.
	Push(ctx context.Context, agentID string, generation int64, push Push) (PushResult, error)
	// Upload keeps payloads that an agent will name in a push, for UploadsFor at least.
	Upload(ctx context.Context, agentID string, payloads [][]byte) error

	// Snapshot returns what an agent has, or had, its resources in byte order
	// of their ids. An agent that never pushed has none: ErrNotFound.
	Snapshot(ctx context.Context, q Query) (StoredSnapshot, error)
	// ResourceBody returns the payload of one resource. A resource without
	// one is ErrNotFound; an empty payload isn't.
	ResourceBody(ctx context.Context, q Query, resourceID string) ([]byte, error)
	// Search looks for something in what agents have now, and returns at most
	// q.Limit finds in byte order of the agents' ids. What SearchQuery.Check refuses is
	// ErrInvalid.
	Search(ctx context.Context, q SearchQuery) ([]Hit, error)
	// History lists the revisions that are kept of an agent, the newest first.
	History(ctx context.Context, agentID string) ([]Change, error)
	// Diff tells what is different at one revision from another, resource by
	// resource in byte order of their ids. Revisions are those of a Query, 0
	// for the newest; from may be the later one.
	Diff(ctx context.Context, agentID string, from, to int64) ([]ResourceChange, error)

	// RemoveAgent removes an agent with its tokens, its snapshot and its
	// history; its sessions can't push any more. Its pins stay. A file of
	// provisioned tokens that still names the agent brings it back, empty.
	RemoveAgent(ctx context.Context, id string) error

	// Changes lists the revisions of all agents that are above after and still
	// kept, rising, at most limit of them. Revisions become visible in their
	// order: when one is there, nothing will come below it any more.
	Changes(ctx context.Context, after int64, limit int) ([]Change, error)
	// Wait blocks as long as after is the newest revision, and returns the
	// newest. One that is below after says that the database was set back, to
	// a backup for example, and that a reader has to begin anew. A lost
	// connection to the database makes Wait take longer and nothing else; it
	// fails when ctx ends and, with ErrClosed, when the store is closed.
	Wait(ctx context.Context, after int64) (revision int64, err error)

	Pins
	Approvals

	// Prune drops what the retention no longer keeps, for agents that have
	// stopped pushing: pushes do it for their own agent. It drops payloads that were
	// uploaded and never named, too. Stores prune
	// themselves every hour.
	Prune(ctx context.Context) error
	// Close waits for what is under way. It may be called twice.
	Close() error
}

// AgentInfo is one agent and the head of its newest snapshot.
type AgentInfo struct {
	ID        string
	Name      string
	CreatedAt time.Time

	// Version to UpdatedAt are zero until the agent's first accepted push.
	Version       uint64
	AggregateHash snapshot.Hash
	Resources     int
	// Revision is the store-wide revision of the last push that changed
	// something.
	Revision int64
	// UpdatedAt is when the last accepted push came.
	UpdatedAt time.Time
	// Discovery is pending until that, too.
	Discovery snapshot.Summary
	// SnapshotError is that of the newest snapshot.
	SnapshotError string
	// FailingPlugins counts those of the newest snapshot, DriftedPins the pins of the
	// agent whose snapshot isn't the newest one.
	FailingPlugins, DriftedPins int

	AgentDescription
	// Labels are given by operators; nil for none. The map isn't to be changed.
	Labels Labels
	// SeenAt is when a hub last knew of a connection of the agent. Of one that is
	// connected it may be minutes old.
	SeenAt time.Time
}

// AgentDescription is what an agent says of itself, for people: nothing follows from
// it. Agents of older versions say nothing.
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

// Presence is offered by a store that several hubs may share: it lets each know
// which agents are connected to the others. What a hub says holds for a while
// only, so that one that is killed isn't believed for ever.
type Presence interface {
	// Present says which agents are connected to a hub, for the next ttl, in place of
	// what it said before. No agents takes it back.
	Present(ctx context.Context, hub PresentHub, agents []PresentAgent, ttl time.Duration) error
	// Elsewhere lists, in byte order of their ids, the agents that are connected
	// to other hubs than the one with this id; one that is connected to several of
	// them is there as often.
	Elsewhere(ctx context.Context, hub string) ([]PresentAgent, error)
}

// PresentHub is one of several hubs over a store.
type PresentHub struct {
	ID string
	// URL is where the others reach it; empty: they don't.
	URL string
	// Secret is what they show it then. It is the hub's own and new with each start:
	// what reads it here reads all else that is stored, too.
	Secret string
}

// PresentAgent is what a hub says of an agent that is connected to it.
type PresentAgent struct {
	ID string `json:"id"`
	// Hub is that hub, where the store is asked for those of others.
	Hub PresentHub `json:"-"`
	// Generation is that of the session whose push was accepted last; 0 as long
	// as none was. Run is what that session's agent calls its run, in
	// hexadecimal; empty for one that doesn't say.
	Generation int64  `json:"generation,omitempty"`
	Run        string `json:"run,omitempty"`
	// NotHeard is how many connections have been told that another agent with
	// the same token has taken over.
	NotHeard int `json:"not_heard,omitempty"`
}
