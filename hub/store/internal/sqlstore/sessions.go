package sqlstore

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"waymark/hub/store"
	"waymark/internal/credential"
)

// CreateSession implements store.Sessions.
func (c *Core) CreateSession(ctx context.Context, ns store.NewSession) (s store.Session, err error) {
	if !store.Findable(ns.TokenID) {
		return s, fmt.Errorf("create session: %w", &store.NotFoundError{What: "token", ID: ns.TokenID})
	}
	now := c.Stamp()
	s = store.Session{ID: uuid.NewString(), CreatedAt: toTime(now), ExpiresAt: toTime(ns.ExpiresAt.UnixMicro())}
	err = c.Database.Update(ctx, func(tx Tx) error {
		s.Token = store.Token{}
		err := each(ctx, tx, "SELECT "+tokenColumns+" FROM tokens t WHERE t.id = $1", []any{ns.TokenID}, func(rows Rows) (err error) {
			s.Token, err = scanToken(rows)
			return err
		})
		if err != nil {
			return err
		}
		if s.Token.ID == "" || s.Token.Role == store.RoleAgent || !s.Token.Valid(s.CreatedAt) {
			return &store.NotFoundError{What: "token", ID: ns.TokenID}
		}
		if err := dropSessions(ctx, tx, ns.TokenID, now); err != nil {
			return err
		}
		_, err = tx.Exec(ctx,
			`INSERT INTO sessions (id, hash, token_id, created_at, expires_at) VALUES ($1, $2, $3, $4, $5)
			 ON CONFLICT (id) DO NOTHING`, s.ID, ns.Hash[:], ns.TokenID, now, s.ExpiresAt.UnixMicro())
		return err
	})
	if err != nil {
		return store.Session{}, fmt.Errorf("create session: %w", err)
	}
	return s, nil
}

// dropSessions makes room for a new session of the token, and removes all expired ones.
func dropSessions(ctx context.Context, tx Tx, tokenID string, now int64) error {
	if _, err := tx.Exec(ctx, "DELETE FROM sessions WHERE expires_at <= $1", now); err != nil {
		return err
	}
	_, err := tx.Exec(ctx,
		`DELETE FROM sessions WHERE id IN (
		   SELECT id FROM sessions WHERE token_id = $1 ORDER BY created_at DESC, id LIMIT 1000 OFFSET $2)`,
		tokenID, int64(store.MaxSessions-1))
	return err
}

// SessionByHash implements store.Sessions.
func (c *Core) SessionByHash(ctx context.Context, hash credential.Hash) (s store.Session, err error) {
	const query = "SELECT " + tokenColumns + ", s.id, s.created_at, s.expires_at FROM sessions s JOIN tokens t ON t.id = s.token_id WHERE s.hash = $1"
	err = c.Database.Read(ctx, func(tx Tx) error {
		s = store.Session{}
		return each(ctx, tx, query, []any{hash[:]}, func(rows Rows) (err error) {
			var created, expires int64
			s.Token, err = scanToken(rows, &s.ID, &created, &expires)
			s.CreatedAt, s.ExpiresAt = toTime(created), toTime(expires)
			return err
		})
	})
	if err == nil && s.ID == "" {
		return store.Session{}, &store.NotFoundError{What: "session"}
	}
	if err != nil {
		return store.Session{}, fmt.Errorf("look up session: %w", err)
	}
	return s, nil
}

// ValidSessions implements store.Sessions.
func (c *Core) ValidSessions(ctx context.Context, ids []string) ([]string, error) {
	valid, err := c.among(ctx, "SELECT s.id FROM sessions s JOIN tokens t ON t.id = s.token_id WHERE s.expires_at > $2 AND "+
		validToken+" AND s.id IN ("+c.TextList+")", ids)
	if err != nil {
		return nil, fmt.Errorf("check sessions: %w", err)
	}
	return valid, nil
}

// EndSession implements store.Sessions.
func (c *Core) EndSession(ctx context.Context, id string) error {
	if !store.Findable(id) {
		return nil
	}
	err := c.Database.Update(ctx, func(tx Tx) error {
		_, err := tx.Exec(ctx, "DELETE FROM sessions WHERE id = $1", id)
		return err
	})
	if err != nil {
		return fmt.Errorf("end session: %w", err)
	}
	return nil
}
