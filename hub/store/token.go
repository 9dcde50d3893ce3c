package store

import (
	"slices"
	"time"

	"waymark/internal/credential"
)

// Role says what a token gives access to.
type Role string

// The roles. Agents' tokens and others never give access to the same things.
const (
	// RoleAgent pushes for the agent that the token belongs to.
	RoleAgent Role = "agent"
	// RoleReader reads through the HTTP API: everything, or what its token's scope allows.
	RoleReader Role = "reader"
	// RoleOperator reads everything, and adds and revokes signed approvals, which concern
	// all agents.
	RoleOperator Role = "operator"
)

// NewToken describes a new token.
type NewToken struct {
	Hash credential.Hash
	Role Role
	// AgentID is the agent that an agent's token belongs to; empty for others.
	AgentID string
	// Name is for people; for an agent's token it is also the agent's name.
	Name string
	// Scope lists the agents that a reader's token shows; nil means all, including future
	// ones. The agents needn't exist yet.
	Scope []string
	// ScopeLabels restrict a reader's token to agents with all of these labels; nil means
	// no restriction. With a Scope, both must hold.
	ScopeLabels Labels
	// ExpiresAt is when the token expires; zero means never.
	ExpiresAt time.Time
}

// Token is a stored token, without its text.
type Token struct {
	// ID identifies the token for people and commands; it isn't secret.
	ID        string
	Role      Role
	AgentID   string
	Name      string
	CreatedAt time.Time
	// LastUsedAt may be a minute old, because hubs don't store it on every call.
	LastUsedAt time.Time
	// RevokedAt is zero while the token isn't revoked.
	RevokedAt time.Time
	// Provisioned says that the token comes from a file; see Store.SyncProvisioned.
	Provisioned bool
	// Scope lists the agents that a reader's token shows, in byte order; nil means all.
	Scope []string
	// ScopeLabels restrict a reader's token to agents with all of these labels; nil means
	// no restriction. Allows ignores them: see Store.Labeled.
	ScopeLabels Labels
	// ExpiresAt is when the token expires; zero means never.
	ExpiresAt time.Time
	// EnrolledBy is the id of the code or key with which an agent's token was made; "" for
	// none.
	EnrolledBy string
}

// Revoked reports whether the token was revoked.
func (t *Token) Revoked() bool { return !t.RevokedAt.IsZero() }

// Expired reports whether the token has expired.
func (t *Token) Expired(now time.Time) bool { return credential.Expired(now, t.ExpiresAt) }

// Valid reports whether the token is valid.
func (t *Token) Valid(now time.Time) bool { return credential.Valid(now, t.ExpiresAt, t.RevokedAt) }

// Allows reports whether a reader with the token may see the agent.
func (t *Token) Allows(agentID string) bool {
	if t.Scope == nil {
		return true
	}
	_, found := slices.BinarySearch(t.Scope, agentID)
	return found
}

// kinds are the kinds of tokens by role.
var kinds = map[Role]credential.Kind{RoleAgent: credential.AgentToken, RoleReader: credential.ReaderToken, RoleOperator: credential.OperatorToken}

// Kind returns the kind of the role's tokens; the zero Kind for an unknown role.
func (r Role) Kind() credential.Kind { return kinds[r] }

// RoleOfToken returns the role of tokens with the form of a text, if there is one.
func RoleOfToken(text string) (role Role, known bool) {
	of := credential.Of(text)
	for role, kind := range kinds {
		if kind == of && kind.Is(text) {
			return role, true
		}
	}
	return "", false
}
