package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"waymark/hub/store"
	"waymark/hub/store/internal/sqlstore"
	"waymark/internal/credential"
)

// beginner is a session to begin.
type beginner struct {
	member

	agentID, hub string
	session      *sqlstore.Session
}

// BeginSession implements store.Store.
func (db *DB) BeginSession(ctx context.Context, agentID, hub string) (generation int64, found store.Begun, err error) {
	if !store.Findable(agentID) {
		return 0, found, &store.NotFoundError{What: "agent", ID: agentID}
	}
	b := &beginner{member: member{key: agentID}, agentID: agentID, hub: hub}
	if err := db.begins.do(ctx, b); err != nil {
		return 0, found, fmt.Errorf("begin session: %w", err)
	}
	return b.session.Generation, b.session.Found, nil
}

// beginTogether begins sessions.
func beginTogether(ctx context.Context, db *DB, conn *pgx.Conn, list ...*beginner) error {
	at := make(map[string][]string) // agents by hub: it is one, but in tests
	ids := make([]string, len(list))
	for i, b := range list {
		ids[i], at[b.hub] = b.agentID, append(at[b.hub], b.agentID)
	}
	return pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error {
		if err := db.LockAgents(ctx, runner{tx}, ids...); err != nil {
			return err
		}
		for hub, ids := range at {
			begun, err := db.BeginSessions(ctx, runner{tx}, hub, ids)
			if err != nil {
				return err
			}
			for _, b := range list {
				if b.hub != hub {
					continue
				}
				if b.session, b.err = begun[b.agentID], nil; b.session == nil {
					b.err = &store.NotFoundError{What: "agent", ID: b.agentID}
				}
			}
		}
		return nil
	})
}

// lookup is a token to be looked up.
type lookup struct {
	member

	hash  credential.Hash
	token store.Token
}

// TokenByHash implements store.Store.
func (db *DB) TokenByHash(ctx context.Context, hash credential.Hash) (store.Token, error) {
	l := &lookup{hash: hash}
	if err := db.lookups.do(ctx, l); err != nil {
		return store.Token{}, fmt.Errorf("look up token: %w", err)
	}
	return l.token, nil
}

// lookUpTogether looks tokens up.
func lookUpTogether(ctx context.Context, _ *DB, conn *pgx.Conn, list ...*lookup) error {
	hashes := make([][]byte, len(list))
	for i, l := range list {
		hashes[i], l.err = l.hash[:], &store.NotFoundError{What: "token"}
	}
	rows, err := conn.Query(ctx, sqlstore.SelectTokens+"t.hash = ANY($1)", hashes)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		hash, token, err := sqlstore.ScanToken(rows)
		if hash == nil {
			return err
		}
		for _, l := range list {
			if string(l.hash[:]) == string(hash) {
				l.token, l.err = token, err
			}
		}
	}
	return rows.Err()
}
