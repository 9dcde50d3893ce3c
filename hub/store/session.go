package store

import (
	"context"
	"time"

	"waymark/internal/credential"
)

// NewSession describes a session to be added.
type NewSession struct {
	Hash credential.Hash
	// TokenID is the reader's or operator's token that the session belongs to.
	TokenID   string
	ExpiresAt time.Time
}

// Session lets one browser read what a token shows, for as long as
// both are valid.
type Session struct {
	// ID names the session; it isn't secret.
	ID string
	// Token is the token that the session belongs to, as it is now.
	Token     Token
	CreatedAt time.Time
	ExpiresAt time.Time
}

// Until is when the session ends unless it is ended before: its own end or its
// token's.
func (s *Session) Until() time.Time { return credential.Sooner(s.ExpiresAt, s.Token.ExpiresAt) }

// Valid reports whether the session opens anything.
func (s *Session) Valid(now time.Time) bool {
	return credential.Valid(now, s.Until(), s.Token.RevokedAt)
}

// MaxSessions bounds the sessions of one token; a new one ends the oldest.
const MaxSessions = 64

// Sessions is the part of a Store that keeps the sessions of browsers.
type Sessions interface {
	// CreateSession adds a session. ErrNotFound says that there is no such
	// token, or that it is an agent's, or not valid any more.
	CreateSession(ctx context.Context, session NewSession) (Session, error)
	// SessionByHash returns the session with the hash. One whose token was
	// deleted is gone; one that isn't valid may still be found.
	SessionByHash(ctx context.Context, hash credential.Hash) (Session, error)
	// ValidSessions returns those of ids whose sessions are valid, in any
	// order.
	ValidSessions(ctx context.Context, ids []string) ([]string, error)
	// EndSession removes the session. One that is gone already is none.
	EndSession(ctx context.Context, id string) error
}
