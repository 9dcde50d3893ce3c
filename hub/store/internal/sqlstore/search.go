package sqlstore

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"waymark/hub/store"
	"waymark/snapshot"
)

// Search implements store.Store. It looks at every row that holds now, since a part of
// a text has no index.
func (c *Core) Search(ctx context.Context, q store.SearchQuery) (hits []store.Hit, err error) {
	if err := q.Check(); err != nil {
		return nil, err
	}
	hash, err := hex.DecodeString(q.Text)
	if err != nil {
		hash = nil
	}
	args := []any{contains(q.Text), NotNull(hash), q.Limit}
	scope, plugins := "", ""
	var scopeArgs []any
	if q.Scope != nil {
		list, err := c.textList(q.Scope)
		if err != nil {
			return nil, err
		}
		// $1 is the list in TextList.
		scope = " AND r.agent_id IN (" + strings.ReplaceAll(c.TextList, "$1", "$4") + ")"
		plugins = " AND s.agent_id IN (" + c.TextList + ")"
		args, scopeArgs = append(args, list), []any{list}
	}
	err = c.Database.View(ctx, func(tx Tx) error {
		hits = nil
		err := each(ctx, tx, `SELECT r.agent_id, r.id, r.kind, r.name, r.source, r.status, r.content_hash FROM resources r
			WHERE r.until IS NULL AND (lower(r.name) LIKE $1 ESCAPE '!' OR lower(r.source) LIKE $1 ESCAPE '!' OR length(r.content_hash) = 32 AND r.content_hash = $2)`+
			scope+` ORDER BY r.agent_id, r.id LIMIT $3`, args, func(rows Rows) error {
			var h store.Hit
			var hash []byte
			err := rows.Scan(&h.AgentID, &h.ResourceID, (*string)(&h.Kind), &h.Name, &h.Source, (*string)(&h.Status), &hash)
			h.Hash = toHash(hash)
			hits = append(hits, h)
			return err
		})
		if err != nil {
			return err
		}
		return each(ctx, tx, `SELECT s.agent_id, s.plugins FROM heads h JOIN snapshots s ON s.revision = h.revision
			WHERE h.failing > 0`+plugins+` ORDER BY s.agent_id`,
			scopeArgs, func(rows Rows) error {
				var id, text string
				var list []snapshot.Plugin
				if err := rows.Scan(&id, &text); err != nil {
					return err
				}
				if err := json.Unmarshal([]byte(text), &list); err != nil {
					return err
				}
				for i := range list {
					if q.Finds(&list[i]) {
						hits = append(hits, store.Hit{AgentID: id, Plugin: &list[i]})
					}
				}
				return nil
			})
	})
	if err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	// By agent, its plugins behind its resources.
	slices.SortStableFunc(hits, func(a, b store.Hit) int { return strings.Compare(a.AgentID, b.AgentID) })
	return hits[:min(len(hits), q.Limit)], nil
}
