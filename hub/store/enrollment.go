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

// Enrollments is the part of a Store that keeps the codes and keys with which agents
// get tokens of their own.
type Enrollments interface {
	// CreateEnrollment adds a code or a key. What NewEnrollment.Check refuses is
	// ErrInvalid.
	CreateEnrollment(ctx context.Context, enrollment NewEnrollment) (Enrollment, error)
	// Enrollments lists all, the oldest first, those that can't be used any more too.
	Enrollments(ctx context.Context) ([]Enrollment, error)
	// RevokeEnrollment makes the code or key invalid, for ever, and with tokens the
	// tokens that were made by it; it returns how many of those were valid. Revoking
	// it again is fine.
	RevokeEnrollment(ctx context.Context, id string, tokens bool) (revoked int, err error)
	// Enroll uses a code or a key: it makes an agent, which mustn't exist, and a token
	// for it, in one transaction. Of those who come at once no more get one than may.
	// The same agent's token again, by the same code or key, is the same answer, and
	// no further use: the first one may have been lost.
	//
	// # Errors
	//
	// ErrNotFound says that there is no such code or key, or that it is used up, expired
	// or revoked; ErrAgentExists that the agent that it is for is there already.
	Enroll(ctx context.Context, hash credential.Hash, agent NewAgent) (Token, error)
}

// ErrAgentExists says that an agent can't be made, because it is there.
var ErrAgentExists = errors.New("the agent exists already")

// NewEnrollment describes a code or a key to be added.
type NewEnrollment struct {
	Hash credential.Hash
	Name string // for people
	// AgentID is the one that the agent will have; "" lets the hub choose. It needs
	// MaxUses 1.
	AgentID string
	// Labels are those that agents get.
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

// Enrollment is a code or a key as it is kept: without its text.
type Enrollment struct {
	// ID names it to people and commands; it isn't secret.
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

// NewAgent is an agent that enrolls. It makes its token itself, and shows the hub its
// hash.
type NewAgent struct {
	Token credential.Hash
	Name  string // for people
}

// ParseEnrollment returns the hash of a key, or of a code however it is typed. The
// error never holds the text.
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
