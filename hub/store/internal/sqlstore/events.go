package sqlstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"waymark/hub/store"
)

// EventSQL is how a database's events are read and deleted. Their rows begin with the
// transaction and the number.
type EventSQL struct {
	// Now is a SELECT of the epoch, the transaction and number of the last event that was
	// deleted, the position below which nothing can appear any more, and what is visible
	// above it; "" says that there is nothing.
	Now string
	// Page is for the condition that selects settled events above ($1, $2) and below the
	// transaction $3, at most $4.
	Page string
	// Ahead is for those that aren't settled: from the transaction $1, at most $2.
	Ahead string
	// Unseen is for those that the reader of $1, Cursor.Seen, has not seen, at most $2.
	Unseen string
	// Oldest is a SELECT of the transactions, numbers and times of the oldest $1.
	Oldest string
	// Delete deletes those up to ($1, $2), and Floor notes that.
	Delete, Floor string
}

const (
	// EventColumns are the columns of an event behind the transaction and the number.
	EventColumns = `e.what, e.revision, e.agent_id, e.pin_id, e.was, e.version, e.aggregate_hash, e.resources, e.at,
		e.added, e.changed, e.removed, e.touched, e.summary, e.failing FROM events e WHERE `
	// EventListed leaves out pushes of removed agents, and all but the last change of a pin.
	EventListed = ` AND (e.what <> 'push' OR NOT EXISTS (SELECT 1 FROM events g WHERE g.what = 'agent' AND g.agent_id = e.agent_id AND g.revision > e.revision))
		AND (e.what <> 'pin' OR EXISTS (SELECT 1 FROM pins p WHERE p.id = e.pin_id AND p.changed = e.revision))`

	// maxAhead limits the events that aren't settled and are listed all the same. More of
	// them are only there while something else holds the database up for long; they come
	// when they are settled.
	maxAhead = 10_000

	// pinEvents are what readers hear of the pins that an agent's newest revision changed.
	pinEvents = `INSERT INTO events (what, revision, agent_id, pin_id, at)
		SELECT 'pin', p.changed, p.agent_id, p.id, $2 FROM pins p WHERE p.agent_id = $1 AND p.changed = ` + headRevision + ` ORDER BY p.id`
	// PushEvents are what they hear of pushes: of the newest revisions of the agents that
	// the condition selects.
	PushEvents = `INSERT INTO events (what, revision, agent_id, version, aggregate_hash, resources, at, added, changed, removed, touched, summary, failing)
		SELECT 'push', revision, agent_id, version, aggregate_hash, resources, created_at, added, changed, removed, touched, summary, failing
		FROM snapshots WHERE revision IN `

	// Touch writes, and changes nothing.
	Touch = "UPDATE events_kept SET one = 1"

	insertPinEvent = "INSERT INTO events (what, revision, agent_id, pin_id, at) SELECT 'pin', p.changed, p.agent_id, p.id, $2 FROM pins p WHERE p.id = $1"
	insertDeleted  = "INSERT INTO events (what, revision, agent_id, pin_id, was, at) VALUES ('deleted', $1, $2, $3, $4, $5)"
	insertRemoved  = "INSERT INTO events (what, revision, agent_id, at) VALUES ('agent', $1, $2, $3)"
)

// moment is where the events of a database end.
type moment struct {
	newest, floor store.Cursor
}

func (c *Core) moment(ctx context.Context, tx Tx, heard uint64) (m moment, err error) {
	m.newest.Heard = heard
	err = one(ctx, tx, c.Log.Now, nil, &m.newest.Epoch, &m.floor.Tx, &m.floor.N, &m.newest.Tx, &m.newest.N, &m.newest.Seen)
	m.floor.Epoch = m.newest.Epoch
	return m, err
}

// Newest implements store.Following.
func (c *Core) Newest(ctx context.Context) (store.Cursor, error) {
	var m moment
	heard := c.Notices.Count()
	err := c.Database.View(ctx, func(tx Tx) (err error) {
		m, err = c.moment(ctx, tx, heard)
		return err
	})
	if err != nil {
		return store.Cursor{}, fmt.Errorf("read the newest event: %w", err)
	}
	return m.newest, nil
}

// Events implements store.Following.
func (c *Core) Events(ctx context.Context, after store.Cursor, limit int) (page store.Events, err error) {
	heard := c.Notices.Count() // first, so that what is committed after the reading gives a notice
	err = c.Database.View(ctx, func(tx Tx) error {
		m, err := c.moment(ctx, tx, heard)
		if err == nil {
			page, err = c.eventsSince(ctx, tx, after, m, max(limit, 1))
		}
		return err
	})
	if err != nil {
		return store.Events{}, fmt.Errorf("list events: %w", err)
	}
	return page, nil
}

func (c *Core) eventsSince(ctx context.Context, tx Tx, after store.Cursor, m moment, limit int) (page store.Events, err error) {
	if after.IsZero() {
		after = m.floor
	}
	if after.Epoch != m.newest.Epoch || after.Compare(m.floor) < 0 || after.Compare(m.newest) > 0 {
		return store.Events{Through: m.newest, Last: true, Lost: true}, nil
	}
	if after.Seen != "" {
		page.List, err = c.readEvents(ctx, tx, c.Log.Unseen, m, after.Seen, limit+1)
		if err != nil || len(page.List) <= limit {
			page.Through, page.Last = m.newest, true
			return page, err
		} // too many at once: by pages, of which some may be known
	}
	page.List, err = c.readEvents(ctx, tx, c.Log.Page, m, after.Tx, after.N, m.newest.Tx, limit)
	if err != nil {
		return page, err
	}
	if len(page.List) == limit {
		page.Through = page.List[limit-1].At
		page.Through.Heard = m.newest.Heard
		return page, nil
	}
	page.Through, page.Last = m.newest, true
	if m.newest.Seen == "" {
		return page, nil
	}
	ahead, err := c.readEvents(ctx, tx, c.Log.Ahead, m, m.newest.Tx, maxAhead+1)
	if len(ahead) > maxAhead {
		page.Through.Seen = "" // the reader has not seen them
		return page, err
	}
	page.List = append(page.List, ahead...)
	return page, err
}

// readEvents reads the events that a query of EventSQL selects.
func (c *Core) readEvents(ctx context.Context, tx Tx, query string, m moment, args ...any) (list []store.Event, err error) {
	var ids []string
	pins := make(map[string]*store.Pin)
	err = each(ctx, tx, query, args, func(rows Rows) error {
		e := store.Event{At: store.Cursor{Epoch: m.newest.Epoch}}
		var ch store.Change
		var what, touched, summary string
		var pinID, was *string
		var hash []byte
		var version, at int64
		err := rows.Scan(&e.At.Tx, &e.At.N, &what, &e.Revision, &ch.AgentID, &pinID, &was, &version, &hash, &ch.Resources, &at,
			&ch.Added, &ch.Changed, &ch.Removed, &touched, &summary, &ch.FailingPlugins)
		if err != nil {
			return err
		}
		switch what {
		case "push":
			ch.Revision, ch.Version, ch.AggregateHash, ch.At = e.Revision, uint64(version), toHash(hash), toTime(at) //nolint:gosec // >= 0
			e.Change, err = &ch, errors.Join(readTouched(touched, &ch), json.Unmarshal([]byte(summary), &ch.Discovery))
		case "pin":
			e.Pin = &store.Pin{ID: *pinID}
			ids = append(ids, *pinID)
			pins[*pinID] = e.Pin
		case "deleted":
			err = json.Unmarshal([]byte(*was), &e.Deleted)
		default:
			e.RemovedAgent = ch.AgentID
		}
		list = append(list, e)
		return err
	})
	if err != nil || len(ids) == 0 {
		return list, err
	}
	names, err := c.textList(ids)
	if err != nil {
		return nil, err
	}
	found, err := readPins(ctx, tx, "WHERE p.id IN ("+c.TextList+")", names)
	for i := range found {
		*pins[found[i].ID] = found[i]
	}
	return list, err
}

// pruneBatchEvents bounds how many events one transaction deletes.
const pruneBatchEvents = 5000

// pruneEvents deletes events that are older than readers may be.
func (c *Core) pruneEvents(ctx context.Context) error {
	before := c.Stamp() - min(store.EventsFor, c.Keep.Age).Microseconds()
	for deleted := pruneBatchEvents; deleted == pruneBatchEvents; {
		err := c.Database.Update(ctx, func(tx Tx) error {
			var newest, number, last, n int64
			deleted = 0
			if err := one(ctx, tx, "SELECT coalesce(max(n), 0) FROM events", nil, &newest); err != nil {
				return err
			}
			err := each(ctx, tx, c.Log.Oldest, []any{pruneBatchEvents}, func(rows Rows) error {
				var t, i, at int64
				err := rows.Scan(&t, &i, &at)
				if deleted == int(number) && (at < before || newest-i >= store.MaxEvents) {
					last, n = t, i
					deleted++
				}
				number++
				return err
			})
			if err != nil || deleted == 0 {
				return err
			}
			if _, err := tx.Exec(ctx, c.Log.Delete, last, n); err != nil {
				return err
			}
			_, err = tx.Exec(ctx, c.Log.Floor, last, n)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
