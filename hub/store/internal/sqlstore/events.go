package sqlstore

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"waymark/hub/store"
)

// The last of the next $2 revisions above $1 at which something happened.
const lastOfPage = `SELECT coalesce(max(revision), $1) FROM (SELECT revision FROM (
	SELECT * FROM (SELECT revision FROM snapshots WHERE revision > $1 ORDER BY revision LIMIT $2) AS a
	UNION SELECT * FROM (SELECT DISTINCT changed FROM pins WHERE changed > $1 ORDER BY changed LIMIT $2) AS b
	UNION SELECT * FROM (SELECT revision FROM removals WHERE revision > $1 ORDER BY revision LIMIT $2) AS c
	) AS d ORDER BY revision LIMIT $2) AS e`

// Events implements store.Pins.
func (c *Core) Events(ctx context.Context, after int64, limit int) (page store.Events, err error) {
	err = c.Database.View(ctx, func(tx Tx) error {
		page = store.Events{}
		if err := one(ctx, tx, "SELECT value, floor FROM revision", nil, &page.Newest, &page.Floor); err != nil {
			return err
		}
		if err := one(ctx, tx, lastOfPage, []any{after, int64(max(limit, 1))}, &page.Through); err != nil {
			return err
		}
		if page.Through <= after { // nothing, up to the newest
			page.Through = max(after, page.Newest)
			return nil
		}
		return readEvents(ctx, tx, after, &page)
	})
	if err != nil {
		return store.Events{}, fmt.Errorf("list events: %w", err)
	}
	return page, nil
}

func readEvents(ctx context.Context, tx Tx, after int64, page *store.Events) error {
	pins, err := readPins(ctx, tx, "WHERE p.changed > $1 AND p.changed <= $2 ORDER BY p.changed, p.id", after, page.Through)
	if err != nil {
		return err
	}
	for i := range pins {
		page.List = append(page.List, store.Event{Revision: pins[i].Changed, Pin: &pins[i]})
	}
	changes, err := readChanges(ctx, tx, changeColumns+"WHERE revision > $1 AND revision <= $2 ORDER BY revision", after, page.Through)
	if err != nil {
		return err
	}
	for i := range changes {
		page.List = append(page.List, store.Event{Revision: changes[i].Revision, Change: &changes[i]})
	}
	const removals = "SELECT revision, what, id, was FROM removals WHERE revision > $1 AND revision <= $2 ORDER BY revision"
	err = each(ctx, tx, removals, []any{after, page.Through}, func(rows Rows) error {
		var e store.Event
		var what, id, was string
		if err := rows.Scan(&e.Revision, &what, &id, &was); err != nil {
			return err
		}
		if what == "agent" {
			e.RemovedAgent = id
		} else if err := json.Unmarshal([]byte(was), &e.Deleted); err != nil {
			return err
		}
		page.List = append(page.List, e)
		return nil
	})
	// Stable: of one revision, pins come first.
	slices.SortStableFunc(page.List, func(a, b store.Event) int { return cmp.Compare(a.Revision, b.Revision) })
	return err
}
