package sqlstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"waymark/hub/store"
	"waymark/internal/credential"
)

const enrollmentColumns = "SELECT e.id, e.name, e.agent_id, e.labels, e.uses, e.max_uses, e.created_at, e.expires_at, e.revoked_at FROM enrollments e "

func readEnrollments(ctx context.Context, tx Tx, where string, args ...any) (list []store.Enrollment, err error) {
	err = each(ctx, tx, enrollmentColumns+where, args, func(rows Rows) error {
		var e store.Enrollment
		var labels string
		var created, expires int64
		var revoked *int64
		err := rows.Scan(&e.ID, &e.Name, &e.AgentID, &labels, &e.Uses, &e.MaxUses, &created, &expires, &revoked)
		if err == nil && labels != "{}" {
			err = json.Unmarshal([]byte(labels), &e.Labels)
		}
		e.CreatedAt, e.ExpiresAt, e.RevokedAt = toTime(created), toTime(expires), nullTime(revoked)
		list = append(list, e)
		return err
	})
	return list, err
}

// CreateEnrollment implements store.Enrollments.
func (c *Core) CreateEnrollment(ctx context.Context, e store.NewEnrollment) (store.Enrollment, error) {
	if err := e.Check(); err != nil {
		return store.Enrollment{}, fmt.Errorf("create enrollment: %w", err)
	}
	labels, err := labelsText(e.Labels)
	if err != nil {
		return store.Enrollment{}, err
	}
	id, now := uuid.NewString(), c.Stamp()
	makes(ctx, id)
	var list []store.Enrollment
	err = c.Database.Update(ctx, func(tx Tx) error {
		added, err := tx.Exec(ctx, `INSERT INTO enrollments (id, hash, name, agent_id, labels, max_uses, uses, created_at, expires_at)
			VALUES ($1, $2, $3, $4, $5, $6, 0, $7, $8) ON CONFLICT (id) DO NOTHING`,
			id, e.Hash[:], e.Name, e.AgentID, labels, e.MaxUses, now, e.ExpiresAt.UnixMicro())
		_ = added // an earlier try may have been stored after all
		if err == nil {
			list, err = readEnrollments(ctx, tx, "WHERE e.id = $1", id)
		}
		return err
	})
	if err != nil || len(list) == 0 {
		return store.Enrollment{}, fmt.Errorf("create enrollment: %w", err)
	}
	return list[0], nil
}

func labelsText(labels store.Labels) (string, error) {
	if labels == nil {
		return "{}", nil
	}
	data, err := json.Marshal(labels)
	return string(data), err
}

// Enrollments implements store.Enrollments.
func (c *Core) Enrollments(ctx context.Context) (list []store.Enrollment, err error) {
	err = c.Database.Read(ctx, func(tx Tx) error {
		list, err = readEnrollments(ctx, tx, "ORDER BY e.created_at, e.id")
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list enrollments: %w", err)
	}
	return list, nil
}

// RevokeEnrollment implements store.Enrollments.
func (c *Core) RevokeEnrollment(ctx context.Context, id string, tokens bool) (revoked int, err error) {
	missing := &store.NotFoundError{What: "enrollment", ID: id}
	if !store.Findable(id) {
		return 0, missing
	}
	now := c.Stamp()
	err = c.Database.Update(ctx, func(tx Tx) error {
		// From here on the row is locked, so that nobody enrolls in between.
		n, err := tx.Exec(ctx, "UPDATE enrollments SET revoked_at = coalesce(revoked_at, $1) WHERE id = $2", now, id)
		if err == nil && n == 0 {
			err = missing
		}
		if err != nil || !tokens {
			return err
		}
		n, err = tx.Exec(ctx, "UPDATE tokens SET revoked_at = $1 WHERE enrolled_by = $2 AND revoked_at IS NULL", now, id)
		revoked = int(n)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("revoke enrollment: %w", err)
	}
	return revoked, nil
}

// Enroll implements store.Enrollments.
func (c *Core) Enroll(ctx context.Context, hash credential.Hash, agent store.NewAgent) (store.Token, error) {
	want := store.NewToken{Role: store.RoleAgent, Hash: agent.Token, AgentID: uuid.NewString(), Name: agent.Name}
	if err := want.Check(); err != nil {
		return store.Token{}, fmt.Errorf("enroll: %w", err)
	}
	now := c.Stamp()
	var made store.Token
	// Guesses must not cause writes.
	err := c.Database.Read(ctx, func(tx Tx) error {
		var id string
		return one(ctx, tx, "SELECT id FROM enrollments WHERE hash = $1", []any{hash[:]}, &id)
	})
	if errors.Is(err, errNoRow) {
		return store.Token{}, fmt.Errorf("enroll: %w", &store.NotFoundError{What: "enrollment"})
	}
	if err != nil {
		return store.Token{}, fmt.Errorf("enroll: %w", err)
	}
	err = c.Database.Update(ctx, func(tx Tx) error {
		var id, fixed, labels string
		// A repetition: the response was lost, or this is a retry.
		again, err := tokenByHash(ctx, tx, agent.Token)
		switch {
		case err == nil:
			err := one(ctx, tx, "SELECT id FROM enrollments WHERE hash = $1", []any{hash[:]}, &id)
			if err == nil && (again.EnrolledBy != id || again.Revoked()) || errors.Is(err, errNoRow) {
				return &store.NotFoundError{What: "enrollment"}
			}
			made = again
			return err
		case !errors.Is(err, errNoRow):
			return err
		}
		// The statement's condition is evaluated with the row locked, so the limit is never
		// exceeded.
		err = one(ctx, tx, `UPDATE enrollments SET uses = uses + 1 WHERE hash = $1 AND revoked_at IS NULL AND expires_at > $2 AND uses < max_uses
			RETURNING id, agent_id, labels`, []any{hash[:], now}, &id, &fixed, &labels)
		if errors.Is(err, errNoRow) {
			return &store.NotFoundError{What: "enrollment"}
		}
		if err != nil {
			return err
		}
		t := newToken(want, false, now)
		t.EnrolledBy = id
		if fixed != "" {
			t.AgentID = fixed
		}
		added, err := tx.Exec(ctx, "INSERT INTO agents (id, name, created_at, labels) VALUES ($1, $2, $3, $4) ON CONFLICT (id) DO NOTHING",
			t.AgentID, t.Name, now, labels)
		if err == nil && added == 0 {
			err = store.ErrAgentExists
		}
		if err == nil {
			err = indexAgent(ctx, tx, t.AgentID)
		}
		if err != nil {
			return err
		}
		made = t.Token
		return t.insert(ctx, tx)
	})
	if err != nil {
		return store.Token{}, fmt.Errorf("enroll: %w", err)
	}
	return made, nil
}
