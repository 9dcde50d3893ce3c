package store

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"waymark/internal/credential"
)

// Enrollments is the part of a Store for the codes and keys with which agents get their own
// tokens.
type Enrollments interface {
	// CreateEnrollment adds a code or key. What NewEnrollment.Check refuses is ErrInvalid.
	CreateEnrollment(ctx context.Context, enrollment NewEnrollment) (Enrollment, error)
	// Enrollments lists all, oldest first, including unusable ones.
	Enrollments(ctx context.Context) ([]Enrollment, error)
	// RevokeEnrollment revokes the code or key permanently and, if tokens is true, the
	// tokens that were made with it. It returns how many of those were valid. Revoking it
	// again is no error.
	RevokeEnrollment(ctx context.Context, id string, tokens bool) (revoked int, err error)
	// Enroll uses a code or key: in one transaction it makes an agent, which must not
	// exist, and a token for it. Concurrent calls never exceed the allowed uses. Repeating
	// a call with the same token and the same code or key returns the same answer and
	// doesn't count as a use, because the first answer may have been lost.
	//
	// # Errors
	//
	// ErrNotFound if there is no such code or key, or it is used up, expired or revoked;
	// ErrAgentExists if its agent exists already.
	Enroll(ctx context.Context, hash credential.Hash, agent NewAgent) (Token, error)
}

// ErrAgentExists says that an agent can't be made because it exists.
var ErrAgentExists = errors.New("the agent exists already")

// NewEnrollment describes a new code or key.
type NewEnrollment struct {
	Hash credential.Hash
	Name string // for people
	// AgentID is the id of the agent to be made; "" lets the hub choose. It requires
	// MaxUses 1.
	AgentID string
	// Labels are assigned to the agents.
	Labels    Labels
	MaxUses   int
	ExpiresAt time.Time
}

// Check reports whether it can be added.
func (e *NewEnrollment) Check() error {
	if e.MaxUses < 1 || e.MaxUses > math.MaxInt32 {
		return fmt.Errorf("%w: %d uses: want 1 or more", ErrInvalid, e.MaxUses)
	}
	if e.ExpiresAt.IsZero() {
		return fmt.Errorf("%w: an enrollment has to expire", ErrInvalid)
	}
	if notText(e.Name) || len(e.Name) > maxName {
		return fmt.Errorf("%w: the name is longer than %d bytes, or not UTF-8 without NUL", ErrInvalid, maxName)
	}
	if e.AgentID != "" {
		if e.MaxUses != 1 {
			return fmt.Errorf("%w: one agent's enrollment is used once", ErrInvalid)
		}
		if err := CheckAgentID(e.AgentID); err != nil {
			return err
		}
	}
	return e.Labels.Check()
}

// Enrollment is a stored code or key, without its text.
type Enrollment struct {
	// ID identifies it for people and commands; it isn't secret.
	ID            string
	Name, AgentID string
	Labels        Labels
	Uses, MaxUses int
	CreatedAt     time.Time
	ExpiresAt     time.Time
	RevokedAt     time.Time
}

// Valid reports whether it can be used.
func (e *Enrollment) Valid(now time.Time) bool {
	return credential.Valid(now, e.ExpiresAt, e.RevokedAt) && e.Uses < e.MaxUses
}

// NewAgent is an enrolling agent. It has made its token, of which the hub gets only the
// hash.
type NewAgent struct {
	Token credential.Hash
	Name  string // for people
}

// ParseEnrollment returns the hash of a key, or of a code in any spelling. The error never
// contains the text.
func ParseEnrollment(text string) (credential.Hash, error) {
	text = strings.TrimSpace(text)
	for _, kind := range []credential.Kind{credential.EnrollmentKey, credential.EnrollmentCode} {
		if secret, err := kind.Parse(text); err == nil {
			return credential.HashOf(secret), nil
		}
	}
	return credential.Hash{}, errEnrollmentText
}

var errEnrollmentText = fmt.Errorf("%w: that is neither a code nor a key for enrolling; hub enroll makes them", ErrInvalid)
