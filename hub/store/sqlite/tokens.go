package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	driver "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"waymark/hub/store"
)

const tokenColumns = "id, role, agent_id, name, provisioned, created_at, last_used_at, revoked_at" //nolint:gosec // names of columns

// CreateToken implements store.Store.
func (db *DB) CreateToken(ctx context.Context, nt store.NewToken) (store.Token, error) {
	if err := nt.Check(); err != nil {
		return store.Token{}, fmt.Errorf("create token: %w", err)
	}
	if nt.Role == store.RoleAgent && nt.AgentID == "" {
		nt.AgentID = uuid.NewString()
	}
	var token store.Token
	err := db.update(ctx, func(tx *sql.Tx) error {
		var err error
		token, err = insertToken(ctx, tx, nt, false, db.stamp())
		return err
	})
	if err != nil {
		return store.Token{}, fmt.Errorf("create token: %w", err)
	}
	return token, nil
}

func insertToken(ctx context.Context, tx *sql.Tx, nt store.NewToken, provisioned bool, now int64) (store.Token, error) {
	if nt.Role == store.RoleAgent {
		if err := upsertAgent(ctx, tx, nt.AgentID, nt.Name, now); err != nil {
			return store.Token{}, err
		}
	}
	t := store.Token{
		ID: uuid.NewString(), Role: nt.Role, AgentID: nt.AgentID, Name: nt.Name,
		Provisioned: provisioned, CreatedAt: toTime(now),
	}
	_, err := tx.ExecContext(ctx,
		"INSERT INTO tokens (id, hash, role, agent_id, name, provisioned, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
		t.ID, nt.Hash[:], string(t.Role), nullText(t.AgentID), t.Name, provisioned, now)
	var se *driver.Error
	if errors.As(err, &se) && se.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE {
		return store.Token{}, store.ErrTokenExists
	}
	return t, err
}

// upsertAgent makes the agent if there is none; a name replaces the old one.
func upsertAgent(ctx context.Context, tx *sql.Tx, id, name string, now int64) error {
	_, err := tx.ExecContext(ctx,
		`INSERT INTO agents (id, name, created_at) VALUES (?, ?, ?)
		 ON CONFLICT (id) DO UPDATE SET name = excluded.name WHERE excluded.name <> ''`, id, name, now)
	return err
}

// TokenByHash implements store.Store.
func (db *DB) TokenByHash(ctx context.Context, hash store.TokenHash) (store.Token, error) {
	row := db.read.QueryRowContext(ctx, "SELECT "+tokenColumns+" FROM tokens WHERE hash = ?", hash[:])
	t, err := scanToken(row)
	if errors.Is(err, sql.ErrNoRows) {
		return t, &store.NotFoundError{What: "token"}
	}
	if err != nil {
		return t, fmt.Errorf("look up token: %w", err)
	}
	return t, nil
}

// TouchToken implements store.Store.
func (db *DB) TouchToken(ctx context.Context, id string) error {
	return db.changeToken(ctx, id, "UPDATE tokens SET last_used_at = ? WHERE id = ?")
}

// RevokeToken implements store.Store.
func (db *DB) RevokeToken(ctx context.Context, id string) error {
	return db.changeToken(ctx, id, "UPDATE tokens SET revoked_at = coalesce(revoked_at, ?) WHERE id = ?")
}

func (db *DB) changeToken(ctx context.Context, id, query string) error {
	res, err := db.write.ExecContext(ctx, query, db.stamp(), id)
	if err != nil {
		return fmt.Errorf("change token: %w", err)
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return errors.Join(err, &store.NotFoundError{What: "token", ID: id})
	}
	return nil
}

// Tokens implements store.Store.
func (db *DB) Tokens(ctx context.Context) ([]store.Token, error) {
	rows, err := db.read.QueryContext(ctx, "SELECT "+tokenColumns+" FROM tokens ORDER BY created_at, rowid")
	if err != nil {
		return nil, fmt.Errorf("list tokens: %w", err)
	}
	defer rows.Close()
	var tokens []store.Token
	for rows.Next() {
		t, err := scanToken(rows)
		if err != nil {
			return nil, fmt.Errorf("list tokens: %w", err)
		}
		tokens = append(tokens, t)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("list tokens: %w", err)
	}
	return tokens, nil
}

// scanner is what *sql.Row and *sql.Rows have in common.
type scanner interface{ Scan(dest ...any) error }

func scanToken(row scanner) (store.Token, error) {
	var t store.Token
	var agent sql.NullString
	var created int64
	var used, revoked sql.NullInt64
	err := row.Scan(&t.ID, (*string)(&t.Role), &agent, &t.Name, &t.Provisioned, &created, &used, &revoked)
	t.AgentID = agent.String
	t.CreatedAt, t.LastUsedAt, t.RevokedAt = toTime(created), nullTime(used), nullTime(revoked)
	return t, err
}

// stamp is now as it is stored.
func (db *DB) stamp() int64 { return db.now().UnixMicro() }

func toTime(micros int64) time.Time { return time.UnixMicro(micros).UTC() }

func nullTime(micros sql.NullInt64) time.Time {
	if !micros.Valid {
		return time.Time{}
	}
	return toTime(micros.Int64)
}

func nullText(s string) any {
	if s == "" {
		return nil
	}
	return s
}
