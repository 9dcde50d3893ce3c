package sqlstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"waymark/hub/store"
)

const tokenColumns = "id, role, agent_id, name, provisioned, created_at, last_used_at, revoked_at" //nolint:gosec // names of columns

// CreateToken implements store.Store.
func (c *Core) CreateToken(ctx context.Context, nt store.NewToken) (store.Token, error) {
	if err := nt.Check(); err != nil {
		return store.Token{}, fmt.Errorf("create token: %w", err)
	}
	if nt.Role == store.RoleAgent && nt.AgentID == "" {
		nt.AgentID = uuid.NewString()
	}
	t := newToken(nt, false, c.Stamp())
	err := c.Database.Update(ctx, func(tx Tx) error { return t.insert(ctx, tx) })
	if err != nil {
		return store.Token{}, fmt.Errorf("create token: %w", err)
	}
	return t.Token, nil
}

// hashedToken is a token that isn't stored yet.
type hashedToken struct {
	store.Token
	hash store.TokenHash
	now  int64
}

func newToken(nt store.NewToken, provisioned bool, now int64) *hashedToken {
	return &hashedToken{store.Token{
		ID: uuid.NewString(), Role: nt.Role, AgentID: nt.AgentID, Name: nt.Name,
		Provisioned: provisioned, CreatedAt: toTime(now),
	}, nt.Hash, now}
}

// insert adds the token and its agent. ErrTokenExists says that the hash is
// another token's; that it is this very one's is fine.
func (t *hashedToken) insert(ctx context.Context, tx Tx) error {
	var agent any
	if t.Role == store.RoleAgent {
		agent = t.AgentID
		// An agent that is there is kept; a name replaces its old one.
		_, err := tx.Exec(ctx,
			`INSERT INTO agents (id, name, created_at) VALUES ($1, $2, $3)
			 ON CONFLICT (id) DO UPDATE SET name = excluded.name WHERE excluded.name <> ''`, t.AgentID, t.Name, t.now)
		if err != nil {
			return err
		}
	}
	added, err := tx.Exec(ctx,
		`INSERT INTO tokens (id, hash, role, agent_id, name, provisioned, created_at)
		 VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (hash) DO NOTHING`,
		t.ID, t.hash[:], string(t.Role), agent, t.Name, t.Provisioned, t.now)
	if err != nil || added > 0 {
		return err
	}
	found, err := tokenByHash(ctx, tx, t.hash)
	switch {
	case err != nil:
		return err
	case found.ID == t.ID:
		return nil // an earlier try had been stored after all
	case t.Provisioned && found.Provisioned && found.Role == t.Role && found.AgentID == t.AgentID:
		return nil // another hub was faster with the same file
	}
	return store.ErrTokenExists
}

// TokenByHash implements store.Store.
func (c *Core) TokenByHash(ctx context.Context, hash store.TokenHash) (t store.Token, err error) {
	err = c.Database.Look(ctx, func(tx Tx) error {
		t, err = tokenByHash(ctx, tx, hash)
		return err
	})
	if errors.Is(err, errNoRow) {
		return store.Token{}, &store.NotFoundError{What: "token"}
	}
	if err != nil {
		return store.Token{}, fmt.Errorf("look up token: %w", err)
	}
	return t, nil
}

func tokenByHash(ctx context.Context, tx Tx, hash store.TokenHash) (t store.Token, err error) {
	found := false
	err = each(ctx, tx, "SELECT "+tokenColumns+" FROM tokens WHERE hash = $1", []any{hash[:]}, func(rows Rows) error {
		found = true
		t, err = scanToken(rows)
		return err
	})
	if err == nil && !found {
		err = errNoRow
	}
	return t, err
}

// TouchToken implements store.Store.
func (c *Core) TouchToken(ctx context.Context, id string) error {
	return c.changeToken(ctx, id, "UPDATE tokens SET last_used_at = $1 WHERE id = $2")
}

// RevokeToken implements store.Store.
func (c *Core) RevokeToken(ctx context.Context, id string) error {
	return c.changeToken(ctx, id, "UPDATE tokens SET revoked_at = coalesce(revoked_at, $1) WHERE id = $2")
}

func (c *Core) changeToken(ctx context.Context, id, query string) error {
	var changed int64
	if store.Findable(id) {
		now := c.Stamp()
		err := c.Database.Update(ctx, func(tx Tx) (err error) {
			changed, err = tx.Exec(ctx, query, now, id)
			return err
		})
		if err != nil {
			return fmt.Errorf("change token: %w", err)
		}
	}
	if changed == 0 {
		return &store.NotFoundError{What: "token", ID: id}
	}
	return nil
}

// Tokens implements store.Store.
func (c *Core) Tokens(ctx context.Context) (tokens []store.Token, err error) {
	err = c.Database.Look(ctx, func(tx Tx) error {
		tokens = nil
		return each(ctx, tx, "SELECT "+tokenColumns+" FROM tokens ORDER BY created_at, rowid", nil, func(rows Rows) error {
			t, err := scanToken(rows)
			tokens = append(tokens, t)
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("list tokens: %w", err)
	}
	return tokens, nil
}

// ValidTokens implements store.Store.
func (c *Core) ValidTokens(ctx context.Context, ids []string) (valid []string, err error) {
	list, err := json.Marshal(slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !store.Findable(id) }))
	if err != nil {
		return nil, err
	}
	query := "SELECT id FROM tokens WHERE revoked_at IS NULL AND id IN (" + c.TextList + ")"
	err = c.Database.Look(ctx, func(tx Tx) error {
		valid = nil
		return each(ctx, tx, query, []any{string(list)}, func(rows Rows) error {
			var id string
			err := rows.Scan(&id)
			valid = append(valid, id)
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("check tokens: %w", err)
	}
	return valid, nil
}

func scanToken(rows Rows) (store.Token, error) {
	var t store.Token
	var agent *string
	var created int64
	var used, revoked *int64
	err := rows.Scan(&t.ID, (*string)(&t.Role), &agent, &t.Name, &t.Provisioned, &created, &used, &revoked)
	if agent != nil {
		t.AgentID = *agent
	}
	t.CreatedAt, t.LastUsedAt, t.RevokedAt = toTime(created), nullTime(used), nullTime(revoked)
	return t, err
}
