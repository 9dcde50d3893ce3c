package sqlstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"waymark/hub/store"
	"waymark/internal/credential"
)

// SelectTokens is for ScanToken: the tokens that a condition, which follows, selects.
const SelectTokens = "SELECT " + tokenColumns + ", t.hash FROM tokens t WHERE "

// ScanToken reads a row of SelectTokens. Without a hash, the row couldn't be read; with one, only
// that token's scope couldn't.
func ScanToken(rows Rows) (hash []byte, t store.Token, err error) {
	t, err = scanToken(rows, &hash)
	return hash, t, err
}

const tokenColumns = "t.id, t.role, t.agent_id, t.name, t.provisioned, t.created_at, t.last_used_at, t.revoked_at, t.scope, t.expires_at, t.scope_labels, t.enrolled_by" //nolint:gosec // names of columns

// CreateToken implements store.Store.
func (c *Core) CreateToken(ctx context.Context, nt store.NewToken) (store.Token, error) {
	if err := nt.Check(); err != nil {
		return store.Token{}, fmt.Errorf("create token: %w", err)
	}
	if nt.Role == store.RoleAgent && nt.AgentID == "" {
		nt.AgentID = uuid.NewString()
	}
	t := newToken(nt, false, c.Stamp())
	makes(ctx, t.ID)
	err := c.Database.Update(ctx, func(tx Tx) error { return t.insert(ctx, tx) })
	if err != nil {
		return store.Token{}, fmt.Errorf("create token: %w", err)
	}
	return t.Token, nil
}

// hashedToken is a token that isn't stored yet.
type hashedToken struct {
	store.Token
	hash credential.Hash
	now  int64
}

func newToken(nt store.NewToken, provisioned bool, now int64) *hashedToken {
	t := &hashedToken{store.Token{
		ID: uuid.NewString(), Role: nt.Role, AgentID: nt.AgentID, Name: nt.Name,
		Provisioned: provisioned, CreatedAt: toTime(now),
	}, nt.Hash, now}
	if nt.Scope != nil {
		t.Scope = slices.Compact(slices.Sorted(slices.Values(nt.Scope)))
	}
	t.ScopeLabels = nt.ScopeLabels
	if !nt.ExpiresAt.IsZero() {
		t.ExpiresAt = toTime(nt.ExpiresAt.UnixMicro())
	}
	return t
}

// columns returns the scope and the expiry in stored form.
func (t *hashedToken) columns() (scope, labels *string, expires *int64, err error) {
	if t.Scope != nil {
		list, err := json.Marshal(t.Scope)
		if err != nil {
			return nil, nil, nil, err
		}
		text := string(list)
		scope = &text
	}
	if t.ScopeLabels != nil {
		text, err := labelsText(t.ScopeLabels)
		if err != nil {
			return nil, nil, nil, err
		}
		labels = &text
	}
	if !t.ExpiresAt.IsZero() {
		micros := t.ExpiresAt.UnixMicro()
		expires = &micros
	}
	return scope, labels, expires, nil
}

// insert adds the token and its agent. ErrTokenExists says that another token has the hash;
// repeating the same token is no error.
func (t *hashedToken) insert(ctx context.Context, tx Tx) error {
	var agent, enrolledBy any
	if t.EnrolledBy != "" {
		enrolledBy = t.EnrolledBy
	}
	if t.Role == store.RoleAgent {
		agent = t.AgentID
		// An existing agent is kept; a name replaces its old one.
		added, err := tx.Exec(ctx,
			`INSERT INTO agents (id, name, created_at) VALUES ($1, $2, $3)
			 ON CONFLICT (id) DO UPDATE SET name = excluded.name WHERE excluded.name <> ''`, t.AgentID, t.Name, t.now)
		if err == nil && added > 0 {
			err = indexAgent(ctx, tx, t.AgentID)
		}
		if err != nil {
			return err
		}
	}
	scope, labels, expires, err := t.columns()
	if err != nil {
		return err
	}
	added, err := tx.Exec(ctx,
		`INSERT INTO tokens (id, hash, role, agent_id, name, provisioned, created_at, scope, expires_at, scope_labels, enrolled_by)
		 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT (hash) DO NOTHING`,
		t.ID, t.hash[:], string(t.Role), agent, t.Name, t.Provisioned, t.now, scope, expires, labels, enrolledBy)
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
func (c *Core) TokenByHash(ctx context.Context, hash credential.Hash) (t store.Token, err error) {
	err = c.Database.Read(ctx, func(tx Tx) error {
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

func tokenByHash(ctx context.Context, tx Tx, hash credential.Hash) (t store.Token, err error) {
	found := false
	err = each(ctx, tx, "SELECT "+tokenColumns+" FROM tokens t WHERE t.hash = $1", []any{hash[:]}, func(rows Rows) error {
		found = true
		t, err = scanToken(rows)
		return err
	})
	if err == nil && !found {
		err = errNoRow
	}
	return t, err
}

// TouchTokens implements store.Store.
func (c *Core) TouchTokens(ctx context.Context, ids []string) error {
	list, err := c.textList(ids)
	if err != nil {
		return err
	}
	now := c.Stamp()
	err = c.Database.Update(ctx, func(tx Tx) error {
		_, err := tx.Exec(ctx, "UPDATE tokens SET last_used_at = $2 WHERE id IN ("+c.TextList+")", list, now)
		return err
	})
	if err != nil {
		return fmt.Errorf("touch tokens: %w", err)
	}
	return nil
}

// RevokeToken implements store.Store.
func (c *Core) RevokeToken(ctx context.Context, id string) error {
	missing := &store.NotFoundError{What: "token", ID: id}
	if !store.Findable(id) {
		return missing
	}
	now := c.Stamp()
	err := c.Database.Update(ctx, func(tx Tx) error {
		changed, err := tx.Exec(ctx, "UPDATE tokens SET revoked_at = coalesce(revoked_at, $1) WHERE id = $2", now, id)
		if err == nil && changed == 0 {
			err = missing
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("revoke token: %w", err)
	}
	return nil
}

// Tokens implements store.Store.
func (c *Core) Tokens(ctx context.Context) (tokens []store.Token, err error) {
	err = c.Database.Read(ctx, func(tx Tx) error {
		tokens = nil
		return each(ctx, tx, "SELECT "+tokenColumns+" FROM tokens t ORDER BY t.created_at, t.rowid", nil, func(rows Rows) error {
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
func (c *Core) ValidTokens(ctx context.Context, ids []string) ([]string, error) {
	valid, err := c.among(ctx, "SELECT t.id FROM tokens t WHERE "+validToken+" AND t.id IN ("+c.TextList+")", ids)
	if err != nil {
		return nil, fmt.Errorf("check tokens: %w", err)
	}
	return valid, nil
}

// validToken is the condition that a token t is valid at $2.
const validToken = "t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > $2)" //nolint:gosec // names of columns

// among runs a query for those of ids, $1, that something holds of now, $2.
func (c *Core) among(ctx context.Context, query string, ids []string) (found []string, err error) {
	list, err := c.textList(ids)
	if err != nil {
		return nil, err
	}
	err = c.Database.Read(ctx, func(tx Tx) error {
		found = nil
		return each(ctx, tx, query, []any{list, c.Stamp()}, func(rows Rows) error {
			var id string
			err := rows.Scan(&id)
			found = append(found, id)
			return err
		})
	})
	return found, err
}

// textList is an argument for Core.TextList: the ids that can be there.
func (c *Core) textList(ids []string) (string, error) {
	list, err := json.Marshal(slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !store.Findable(id) }))
	return string(list), err
}

// scanToken reads tokenColumns, and then the given values.
func scanToken(rows Rows, more ...any) (store.Token, error) {
	var t store.Token
	var agent, scope, labels, enrolledBy *string
	var created int64
	var used, revoked, expires *int64
	err := rows.Scan(append([]any{
		&t.ID, (*string)(&t.Role), &agent, &t.Name, &t.Provisioned, &created, &used, &revoked, &scope, &expires, &labels, &enrolledBy,
	}, more...)...)
	if err != nil {
		return t, err
	}
	if agent != nil {
		t.AgentID = *agent
	}
	t.CreatedAt, t.LastUsedAt, t.RevokedAt, t.ExpiresAt = toTime(created), nullTime(used), nullTime(revoked), nullTime(expires)
	if enrolledBy != nil {
		t.EnrolledBy = *enrolledBy
	}
	// A scope that is null or can't be read must not be taken for no scope.
	if labels != nil {
		if err := json.Unmarshal([]byte(*labels), &t.ScopeLabels); err != nil {
			return t, fmt.Errorf("scope of token %s: %w", t.ID, err)
		}
		if t.ScopeLabels == nil {
			return t, fmt.Errorf("scope of token %s: %w: no labels", t.ID, store.ErrCorrupt)
		}
	}
	if scope == nil {
		return t, nil
	}
	if err := json.Unmarshal([]byte(*scope), &t.Scope); err != nil {
		return t, fmt.Errorf("scope of token %s: %w", t.ID, err)
	}
	if t.Scope == nil {
		t.Scope = []string{}
	}
	return t, nil
}
