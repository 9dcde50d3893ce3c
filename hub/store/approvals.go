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
	// MaxApproval limits a signed approval, in bytes.
	MaxApproval = 16 << 10
	// MaxApprovals limits all approvals that are neither revoked nor expired, in bytes, so
	// that they fit into one message to an agent.
	MaxApprovals = 900 << 10

	// approvalsKept is how long an approval is listed after its end.
	approvalsKept = 30 * 24 * time.Hour
)

// Errors of approvals that callers distinguish.
var (
	// ErrApprovalExists says that another document has the id, or that this one was
	// revoked.
	ErrApprovalExists = errors.New("there is another approval with this id, or it was revoked; sign one anew")
	// ErrTooManyApprovals says that MaxApprovals is reached.
	ErrTooManyApprovals = errors.New("too many approvals; revoke some that nobody needs")
)

// NewApproval is a signed approval to be stored. The store doesn't parse it.
type NewApproval struct {
	// ID is the document's id.
	ID     string
	Signed []byte
	// ExpiresAt is the document's expiry.
	ExpiresAt time.Time
	// AddedBy is the id of the token that adds it.
	AddedBy string
}

// Approval is a stored signed approval.
type Approval struct {
	NewApproval
	AddedAt time.Time
	// RevokedAt is zero while it isn't revoked.
	RevokedAt time.Time
}

// Live reports whether agents receive the approval.
func (a *Approval) Live(now time.Time) bool { return credential.Valid(now, a.ExpiresAt, a.RevokedAt) }

// ApprovalsGoneBefore returns the time before which ended approvals are no longer stored.
func ApprovalsGoneBefore(now time.Time) time.Time { return now.Add(-approvalsKept) }

// Approvals is the part of a Store for signed approvals. Each change takes a revision of
// theirs, and ends the Waits of all hubs.
type Approvals interface {
	// AddApproval stores an approval. If the same document is stored already, it returns
	// that. Errors: ErrInvalid, ErrApprovalExists, ErrTooManyApprovals.
	AddApproval(ctx context.Context, approval NewApproval) (Approval, error)
	// Approvals lists all approvals in byte order of their ids, including revoked and
	// expired ones, with the revision of the last change. If that is after, nothing has
	// changed, and the list is nil.
	Approvals(ctx context.Context, after int64) (list []Approval, revision int64, err error)
	// RevokeApproval revokes an approval permanently. Revoking it again changes nothing.
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
