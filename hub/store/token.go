package store

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"
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

// TokenHash is SHA-256 of a token's text.
type TokenHash [sha256.Size]byte

// NewToken describes a token to be added.
type NewToken struct {
	Hash TokenHash
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
func (t *Token) Expired(now time.Time) bool { return !t.ExpiresAt.IsZero() && !now.Before(t.ExpiresAt) }

// Valid reports whether the token opens anything.
func (t *Token) Valid(now time.Time) bool { return !t.Revoked() && !t.Expired(now) }

// Allows reports whether a reader with the token may know of the agent.
func (t *Token) Allows(agentID string) bool {
	if t.Scope == nil {
		return true
	}
	_, found := slices.BinarySearch(t.Scope, agentID)
	return found
}

// Token texts are a prefix, so that people and secret scanners know what they
// see, and 32 random bytes in unpadded base64url.
const (
	agentPrefix    = "wma_"
	readerPrefix   = "wmr_"
	operatorPrefix = "wmo_"
	sessionPrefix  = "wms_"
	tokenBytes     = 32
	// minSecret is what a provisioned token must have after its prefix: the
	// length of 32 bytes in base64url, so that a plain hash of it is safe.
	minSecret = 43
	// maxToken keeps absurd texts out of the hash function.
	maxToken = 256
)

// prefix returns what the role's tokens begin with, or "" for an unknown role.
func (r Role) prefix() string {
	switch r {
	case RoleAgent:
		return agentPrefix
	case RoleReader:
		return readerPrefix
	case RoleOperator:
		return operatorPrefix
	}
	return ""
}

// RoleOfToken returns the role whose tokens have the form of a text, if there is one.
func RoleOfToken(text string) (role Role, known bool) {
	for _, role := range []Role{RoleAgent, RoleReader, RoleOperator} {
		if CheckTokenText(role, text) == nil {
			return role, true
		}
	}
	return "", false
}

// NewTokenText returns the text of a new random token.
func NewTokenText(role Role) string { return newText(role.prefix()) }

func newText(prefix string) string {
	var secret [tokenBytes]byte
	_, _ = rand.Read(secret[:]) // never fails, says its documentation
	return prefix + base64.RawURLEncoding.EncodeToString(secret[:])
}

// HashToken returns what a store keeps of a token's text.
func HashToken(text string) TokenHash { return sha256.Sum256([]byte(text)) }

// CheckTokenText reports whether text has the form of the role's tokens. The
// error never holds the text.
func CheckTokenText(role Role, text string) error {
	p := role.prefix()
	if p == "" {
		return fmt.Errorf("%w: role %q is not one of agent, reader, operator", ErrInvalid, role)
	}
	secret, ok := strings.CutPrefix(text, p)
	switch {
	case !ok:
		return fmt.Errorf("%w: a token of role %s begins with %s", ErrInvalid, role, p)
	case len(secret) < minSecret:
		return fmt.Errorf("%w: the token has %d characters after %s, at least %d are needed (32 random bytes in base64url)",
			ErrInvalid, len(secret), p, minSecret)
	case len(text) > maxToken:
		return fmt.Errorf("%w: the token is longer than %d bytes", ErrInvalid, maxToken)
	}
	for _, c := range []byte(secret) {
		if !isTokenByte(c) {
			return fmt.Errorf("%w: the token holds a character outside base64url (letters, digits, - and _)", ErrInvalid)
		}
	}
	return nil
}

func isTokenByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_'
}
