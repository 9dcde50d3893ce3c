package store

import (
	"context"
	"time"

	"waymark/host/snapshot"
)

// Store keeps a hub's state. Times that it returns are UTC, in whole
// microseconds; the zero time stands for "never".
//
// # Errors
//
// What doesn't exist is a *NotFoundError, matched by ErrNotFound. All other
// sentinel errors of this package are said at the methods that return them.
type Store interface {
	// CreateToken adds a token and, for an agent's token, the agent if there
	// is none yet. A non-empty name replaces the agent's name. An empty
	// AgentID of an agent's token makes a new UUID. The same hash twice is
	// ErrTokenExists.
	CreateToken(ctx context.Context, token NewToken) (Token, error)
	// TokenByHash returns the token with the hash, revoked ones too.
	TokenByHash(ctx context.Context, hash TokenHash) (Token, error)
	// TouchToken sets the token's LastUsedAt to now.
	TouchToken(ctx context.Context, id string) error
	// Tokens lists all tokens, the oldest first.
	Tokens(ctx context.Context) ([]Token, error)
	// RevokeToken makes the token invalid, for ever. Revoking a revoked token
	// changes nothing.
	RevokeToken(ctx context.Context, id string) error
	// SyncProvisioned makes tokens the only provisioned ones: it adds what is
	// missing and removes provisioned tokens that are not among them. A
	// revoked token that is still among them stays revoked. Tokens made by
	// CreateToken are left alone; a hash that is one of theirs is
	// ErrTokenExists. Everything or nothing is done.
	SyncProvisioned(ctx context.Context, tokens []NewToken) error

	// Agents lists all agents in byte order of their ids.
	Agents(ctx context.Context) ([]AgentInfo, error)
	// BeginSession starts a session of the agent and returns its generation,
	// which is above all earlier ones, also across restarts.
	BeginSession(ctx context.Context, agentID string) (generation int64, err error)
	// Push replaces the agent's snapshot, in one transaction. What CheckPush
	// refuses is ErrInvalid. A generation that isn't the newest is
	// ErrSuperseded, whatever the versions are. A push that isn't initial and
	// whose version isn't above the stored one is not accepted, without an
	// error, and changes nothing.
	Push(ctx context.Context, agentID string, generation int64, push Push) (PushResult, error)
	// Snapshot returns what the agent's last accepted push brought, its
	// resources in byte order of their ids. An agent that never pushed has
	// none: ErrNotFound.
	Snapshot(ctx context.Context, agentID string) (StoredSnapshot, error)
	// ResourceBody returns the payload of one resource. A resource without
	// one is ErrNotFound; an empty payload isn't.
	ResourceBody(ctx context.Context, agentID, resourceID string) ([]byte, error)

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
	// Revision is the store-wide revision of the last accepted push.
	Revision  int64
	UpdatedAt time.Time
}

// Push is what an agent sends.
type Push struct {
	// Initial says that this is the first push of a connection: it is
	// accepted whatever its version is.
	Initial bool
	// Snapshot is what the agent has. PayloadBytes is not used: the store
	// counts.
	Snapshot snapshot.Snapshot
}

// PushResult is the outcome of a push that was not refused.
type PushResult struct {
	// Accepted is false when the version wasn't newer: nothing was written.
	Accepted bool
	// Revision is the agent's revision after the push.
	Revision int64
}

// StoredSnapshot is a snapshot with what the store knows about it.
type StoredSnapshot struct {
	Snapshot   snapshot.Snapshot
	ReceivedAt time.Time
	Revision   int64
}
