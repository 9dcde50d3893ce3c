package store

import (
	"slices"
	"time"

	"waymark/internal/credential"
)

// Role says what a token opens.
type Role string

// The roles. An agent's and those of the others don't open what the other does.
const (
	// RoleAgent pushes, for the one agent that the token belongs to.
	RoleAgent Role = "agent"
	// RoleReader reads through the HTTP API: everything, or what its token's
	// scope allows.
	RoleReader Role = "reader"
	// RoleOperator reads everything, and says what concerns all agents: it brings and
	// revokes signed approvals.
	RoleOperator Role = "operator"
)

// NewToken describes a token to be added.
type NewToken struct {
	Hash credential.Hash
	Role Role
	// AgentID is the agent that an agent's token belongs to; others have none.
	AgentID string
	// Name is for people: for an agent's token also the agent's name.
	Name string
	// Scope lists the only agents that a reader's token shows; nil: all, those
	// too that come later. The agents needn't be there yet.
	Scope []string
	// ScopeLabels are labels that all agents have which a reader's token shows; nil:
	// any. With a Scope, both must hold.
	ScopeLabels Labels
	// ExpiresAt is when the token ceases to be valid; zero: never.
	ExpiresAt time.Time
}

// Token is a token as it is kept: without its text.
type Token struct {
	// ID names the token to people and commands; it isn't secret.
	ID        string
	Role      Role
	AgentID   string
	Name      string
	CreatedAt time.Time
	// LastUsedAt may be a minute old: hubs don't write it on every call.
	LastUsedAt time.Time
	// RevokedAt is zero while the token is valid.
	RevokedAt time.Time
	// Provisioned says that the token came from a file; see
	// Store.SyncProvisioned.
	Provisioned bool
	// Scope lists the only agents that a reader's token shows, in byte order;
	// nil: all.
	Scope []string
	// ScopeLabels are labels that all agents have which a reader's token shows; nil:
	// any. Allows knows nothing of them: see Store.Labeled.
	ScopeLabels Labels
	// ExpiresAt is when the token ceases to be valid; zero: never.
	ExpiresAt time.Time
	// EnrolledBy is the id of the code or key by which an agent's token was made; ""
	// for none.
	EnrolledBy string
}

// Revoked reports whether the token is no longer valid.
func (t *Token) Revoked() bool { return !t.RevokedAt.IsZero() }

// Expired reports whether the token's time is up.
func (t *Token) Expired(now time.Time) bool { return credential.Expired(now, t.ExpiresAt) }

// Valid reports whether the token opens anything.
func (t *Token) Valid(now time.Time) bool { return credential.Valid(now, t.ExpiresAt, t.RevokedAt) }

// Allows reports whether a reader with the token may know of the agent.
func (t *Token) Allows(agentID string) bool {
	if t.Scope == nil {
		return true
	}
	_, found := slices.BinarySearch(t.Scope, agentID)
	return found
}

// kinds are the roles' tokens.
var kinds = map[Role]credential.Kind{RoleAgent: credential.AgentToken, RoleReader: credential.ReaderToken, RoleOperator: credential.OperatorToken}

// Kind is the kind of the role's tokens; the zero Kind for an unknown role.
func (r Role) Kind() credential.Kind { return kinds[r] }

// RoleOfToken returns the role whose tokens have the form of a text, if there is one.
func RoleOfToken(text string) (role Role, known bool) {
	of := credential.Of(text)
	for role, kind := range kinds {
		if kind == of && kind.Is(text) {
			return role, true
		}
	}
	return "", false
}
