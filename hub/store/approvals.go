package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"waymark/internal/credential"
	"waymark/internal/text"
)

const (
	// MaxApproval bounds one signed approval, in bytes.
	MaxApproval = 16 << 10
	// MaxApprovals bounds all that are neither revoked nor expired, in bytes, so that
	// what an agent is sent fits into one message.
	MaxApprovals = 900 << 10

	// approvalsKept is how long one is listed after its end.
	approvalsKept = 30 * 24 * time.Hour
)

// The errors of approvals that callers tell apart.
var (
	// ErrApprovalExists: another document has the id, or this one was revoked.
	ErrApprovalExists = errors.New("there is another approval with this id, or it was revoked; sign one anew")
	// ErrTooManyApprovals: MaxApprovals are kept already.
	ErrTooManyApprovals = errors.New("too many approvals; revoke some that nobody needs")
)

// NewApproval is a signed approval that is to be kept. The store doesn't read it.
type NewApproval struct {
	// ID is the document's own.
	ID     string
	Signed []byte
	// ExpiresAt is the document's own, too.
	ExpiresAt time.Time
	// AddedBy is the id of the token with which it was brought.
	AddedBy string
}

// Approval is a signed approval as it is kept.
type Approval struct {
	NewApproval
	AddedAt time.Time
	// RevokedAt is zero while it is delivered.
	RevokedAt time.Time
}

// Live reports whether agents get the approval.
func (a *Approval) Live(now time.Time) bool { return credential.Valid(now, a.ExpiresAt, a.RevokedAt) }

// ApprovalsGoneBefore is the end before which approvals are no longer kept.
func ApprovalsGoneBefore(now time.Time) time.Time { return now.Add(-approvalsKept) }

// Approvals is the part of a Store that keeps signed approvals. Each change takes a
// store-wide revision, so that hubs hear of it by Wait.
type Approvals interface {
	// AddApproval keeps an approval. The same document again is the one that is
	// there. Errors: ErrInvalid, ErrApprovalExists, ErrTooManyApprovals.
	AddApproval(ctx context.Context, approval NewApproval) (Approval, error)
	// Approvals lists all approvals, in byte order of their ids, revoked and expired
	// ones too, with the revision of the last change. Where that is after, nothing
	// has changed since, and the list is nil.
	Approvals(ctx context.Context, after int64) (list []Approval, revision int64, err error)
	// RevokeApproval takes an approval back, for ever. One that is revoked already
	// stays as it is.
	RevokeApproval(ctx context.Context, id string) (Approval, error)
}

var approvalID = text.Lazy(`^[A-Za-z0-9_-]{1,64}$`)

// Check reports whether every store can hold the approval.
func (a *NewApproval) Check() error {
	switch {
	case !approvalID().MatchString(a.ID):
		return fmt.Errorf("%w: the id of an approval has 1 to 64 letters, digits, \"-\" and \"_\"", ErrInvalid)
	case len(a.Signed) == 0 || len(a.Signed) > MaxApproval:
		return fmt.Errorf("%w: a signed approval has 1 to %d bytes", ErrInvalid, MaxApproval)
	case a.ExpiresAt.IsZero():
		return fmt.Errorf("%w: the approval has no end", ErrInvalid)
	case len(a.AddedBy) > maxName || !isText(a.AddedBy):
		return fmt.Errorf("%w: who added the approval isn't a text of at most %d bytes", ErrInvalid, maxName)
	}
	return nil
}
