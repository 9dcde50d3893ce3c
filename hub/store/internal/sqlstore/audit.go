package sqlstore

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"waymark/hub/store"
)

// Audited returns a database that stores the act in the context of an update with the first
// change; see store.WithAct.
func Audited(db Database) Database { return audited{db} }

type audited struct{ Database }

// Update implements Database.
func (a audited) Update(ctx context.Context, f func(Tx) error) error {
	act := store.ActOf(ctx)
	if act == nil {
		return a.Database.Update(ctx, f)
	}
	if act.ID == "" {
		act.ID = uuid.NewString()
	}
	return a.Database.Update(ctx, func(tx Tx) error {
		if err := f(tx); err != nil {
			return err
		}
		// An earlier try, or an earlier change of the same act, may have stored it.
		_, err := tx.Exec(ctx, "INSERT INTO audit (id, at, by_token, by_name, what, subject, detail) VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (id) DO NOTHING",
			act.ID, act.At.UnixMicro(), act.By, act.ByName, act.What, act.Subject, act.Detail)
		return err
	})
}

// makes names what an act makes.
func makes(ctx context.Context, id string) {
	if act := store.ActOf(ctx); act != nil {
		act.Subject = id
	}
}

// Record implements store.Audit.
func (c *Core) Record(ctx context.Context) error {
	if err := c.Database.Update(ctx, func(Tx) error { return nil }); err != nil {
		return fmt.Errorf("write the audit log: %w", err)
	}
	return nil
}

// Acts implements store.Audit.
func (c *Core) Acts(ctx context.Context, q store.AuditQuery) (acts []store.Act, next *store.ActPlace, err error) {
	query, args := "SELECT id, at, by_token, by_name, what, subject, detail FROM audit WHERE true", []any{q.Limit + 1}
	if q.After != nil {
		query, args = query+" AND (at, id) < ($2, $3)", append(args, q.After.At, q.After.ID)
	}
	if q.Subject != "" {
		args = append(args, q.Subject)
		query += fmt.Sprintf(" AND subject = $%d", len(args))
	}
	if q.Subject != "" && !store.Findable(q.Subject) || q.After != nil && !store.Findable(q.After.ID) {
		return nil, nil, nil
	}
	err = c.Database.Read(ctx, func(tx Tx) error {
		acts = nil
		return each(ctx, tx, query+" ORDER BY at DESC, id DESC LIMIT $1", args, func(rows Rows) error {
			var a store.Act
			var at int64
			err := rows.Scan(&a.ID, &at, &a.By, &a.ByName, &a.What, &a.Subject, &a.Detail)
			a.At = toTime(at)
			acts = append(acts, a)
			return err
		})
	})
	if err != nil {
		return nil, nil, fmt.Errorf("read the audit log: %w", err)
	}
	if len(acts) > q.Limit {
		acts = acts[:q.Limit]
		last := &acts[q.Limit-1]
		next = &store.ActPlace{At: last.At.UnixMicro(), ID: last.ID}
	}
	return acts, next, nil
}

// pruneAudit drops old entries of the audit log.
func (c *Core) pruneAudit(ctx context.Context) error {
	return c.Database.Update(ctx, func(tx Tx) error {
		_, err := tx.Exec(ctx, "DELETE FROM audit WHERE at < $1", c.Stamp()-store.KeepActs.Microseconds())
		return err
	})
}
