package postgres

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"waymark/hub/store"
	"waymark/hub/store/internal/sqlstore"
)

var _ store.Presence = (*DB)(nil)

// Present implements store.Presence. Times are the database's, since the clocks
// of hubs differ.
func (db *DB) Present(ctx context.Context, hub store.PresentHub, agents []store.PresentAgent, ttl time.Duration) error {
	list, err := json.Marshal(agents)
	if err != nil {
		return err
	}
	return db.Database.Update(ctx, func(tx sqlstore.Tx) error {
		_, err := tx.Exec(ctx, "DELETE FROM hubs WHERE id = $1 OR until < clock_timestamp()", hub.ID)
		if err == nil && len(agents) > 0 {
			_, err = tx.Exec(ctx, `INSERT INTO hubs (id, url, secret, agents, until)
				VALUES ($1, $2, $3, $4, clock_timestamp() + $5::bigint * interval '1 microsecond')`,
				hub.ID, hub.URL, hub.Secret, string(list), ttl.Microseconds())
		}
		if err != nil {
			return fmt.Errorf("say who is connected: %w", err)
		}
		return nil
	})
}

// Elsewhere implements store.Presence.
func (db *DB) Elsewhere(ctx context.Context, hub string) (agents []store.PresentAgent, err error) {
	err = db.Database.Read(ctx, func(tx sqlstore.Tx) error {
		agents = nil
		rows, err := tx.Query(ctx, "SELECT id, url, secret, agents FROM hubs WHERE id <> $1 AND until > clock_timestamp()", hub)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var at store.PresentHub
			var list string
			var some []store.PresentAgent
			if err := rows.Scan(&at.ID, &at.URL, &at.Secret, &list); err != nil {
				return err
			}
			if err := json.Unmarshal([]byte(list), &some); err != nil {
				return err
			}
			for i := range some {
				some[i].Hub = at
			}
			agents = append(agents, some...)
		}
		return rows.Err()
	})
	if err != nil {
		return nil, fmt.Errorf("ask who is connected elsewhere: %w", err)
	}
	slices.SortFunc(agents, func(a, b store.PresentAgent) int {
		return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Generation, b.Generation))
	})
	return agents, nil
}
