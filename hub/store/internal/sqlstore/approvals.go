package sqlstore

import (
	"bytes"
	"context"
	"fmt"

	"waymark/hub/store"
)

const approvalColumns = "SELECT id, signed, expires_at, added_by, added_at, revoked_at FROM approvals "

func readApprovals(ctx context.Context, tx Tx, where string, args ...any) (list []store.Approval, err error) {
	err = each(ctx, tx, approvalColumns+where, args, func(rows Rows) error {
		var a store.Approval
		var expires, added int64
		var revoked *int64
		err := rows.Scan(&a.ID, &a.Signed, &expires, &a.AddedBy, &added, &revoked)
		a.ExpiresAt, a.AddedAt, a.RevokedAt = toTime(expires), toTime(added), nullTime(revoked)
		list = append(list, a)
		return err
	})
	return list, err
}

// AddApproval implements store.Approvals.
func (c *Core) AddApproval(ctx context.Context, na store.NewApproval) (a store.Approval, err error) {
	if err := na.Check(); err != nil {
		return a, fmt.Errorf("add approval: %w", err)
	}
	err = c.Database.Update(ctx, func(tx Tx) error {
		revision, err := c.approvalRevision(ctx, tx)
		if err != nil {
			return err
		}
		a, err = c.addApproval(ctx, tx, na, revision)
		return err
	})
	if err != nil {
		return store.Approval{}, fmt.Errorf("add approval: %w", err)
	}
	c.Notices.Give()
	return a, nil
}

// approvalRevision takes the next revision of the approvals. It keeps out all others that
// change approvals while the existing ones are counted.
func (c *Core) approvalRevision(ctx context.Context, tx Tx) (revision int64, err error) {
	if err := c.lock(ctx, tx, "approvals"); err != nil {
		return 0, err
	}
	return c.nextRevision(ctx, tx)
}

func (c *Core) addApproval(ctx context.Context, tx Tx, na store.NewApproval, revision int64) (store.Approval, error) {
	found, err := readApprovals(ctx, tx, "WHERE id = $1", na.ID)
	if err != nil {
		return store.Approval{}, err
	}
	if len(found) > 0 {
		if !found[0].RevokedAt.IsZero() || !bytes.Equal(found[0].Signed, na.Signed) {
			return store.Approval{}, store.ErrApprovalExists
		}
		return found[0], nil
	}
	now := c.Stamp()
	var size int64
	err = one(ctx, tx, "SELECT coalesce(sum(length(signed)), 0) FROM approvals WHERE revoked_at IS NULL AND expires_at > $1", []any{now}, &size)
	switch {
	case err != nil:
		return store.Approval{}, err
	case size+int64(len(na.Signed)) > store.MaxApprovals:
		return store.Approval{}, store.ErrTooManyApprovals
	}
	gone := store.ApprovalsGoneBefore(toTime(now)).UnixMicro()
	if _, err := tx.Exec(ctx, "DELETE FROM approvals WHERE expires_at < $1", gone); err != nil {
		return store.Approval{}, err
	}
	_, err = tx.Exec(ctx, "INSERT INTO approvals (id, signed, expires_at, added_by, added_at, changed) VALUES ($1, $2, $3, $4, $5, $6)",
		na.ID, na.Signed, na.ExpiresAt.UnixMicro(), na.AddedBy, now, revision)
	if err != nil {
		return store.Approval{}, err
	}
	a := store.Approval{NewApproval: na, AddedAt: toTime(now)}
	a.ExpiresAt = toTime(na.ExpiresAt.UnixMicro())
	return a, nil
}

// Approvals implements store.Approvals.
func (c *Core) Approvals(ctx context.Context, after int64) (list []store.Approval, revision int64, err error) {
	err = c.Database.View(ctx, func(tx Tx) error {
		list = nil
		if err := one(ctx, tx, "SELECT coalesce(max(changed), 0) FROM approvals", nil, &revision); err != nil {
			return err
		}
		if revision == after {
			return nil
		}
		list, err = readApprovals(ctx, tx, "ORDER BY id")
		if list == nil {
			list = []store.Approval{}
		}
		return err
	})
	if err != nil {
		return nil, 0, fmt.Errorf("list approvals: %w", err)
	}
	return list, revision, nil
}

// RevokeApproval implements store.Approvals.
func (c *Core) RevokeApproval(ctx context.Context, id string) (a store.Approval, err error) {
	missing := &store.NotFoundError{What: "approval", ID: id}
	if !store.Findable(id) {
		return a, missing
	}
	now := c.Stamp()
	err = c.Database.Update(ctx, func(tx Tx) error {
		revision, err := c.approvalRevision(ctx, tx)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, "UPDATE approvals SET revoked_at = $1, changed = $2 WHERE id = $3 AND revoked_at IS NULL", now, revision, id)
		if err != nil {
			return err
		}
		found, err := readApprovals(ctx, tx, "WHERE id = $1", id)
		if err == nil && len(found) == 0 {
			err = missing
		}
		if err == nil {
			a = found[0]
		}
		return err
	})
	if err != nil {
		return store.Approval{}, fmt.Errorf("revoke approval: %w", err)
	}
	c.Notices.Give()
	return a, nil
}
