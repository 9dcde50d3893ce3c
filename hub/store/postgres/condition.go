package postgres

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"waymark/hub/store"
)

// condition is what Condition has found.
type condition struct {
	mu sync.Mutex // guards the rest
	// xmin is the oldest transaction under way, and since when that is known.
	xmin  string
	since time.Time
	// off is how far the database's clock is ahead of this machine's.
	off time.Duration
}

// now is the database's clock, as far as it is known. Ages and leases go by it, so that a
// machine whose clock is wrong deletes nothing and believes no lease for longer than others.
func (c *condition) now(local func() time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return local().Add(c.off)
}

const (
	selectSnapshot = `SELECT pg_snapshot_xmin(s)::text, pg_snapshot_xmin(s) < pg_snapshot_xmax(s), clock_timestamp() FROM pg_current_snapshot() s`
	// selectHolder names the oldest transaction with an id, of any database of the server.
	// What another user's runs isn't shown to everybody.
	selectHolder = `SELECT coalesce((SELECT format('process %s of database %s (%s)', pid, coalesce(datname, '?'), coalesce(nullif(application_name, ''), 'unnamed'))
		  FROM pg_stat_activity WHERE backend_xid IS NOT NULL ORDER BY age(backend_xid) DESC LIMIT 1),
		(SELECT format('prepared transaction of database %s', database) FROM pg_prepared_xacts ORDER BY age(transaction) DESC LIMIT 1), '')`
)

// Condition implements store.Store.
func (db *DB) Condition(ctx context.Context) (found store.Condition, err error) {
	var xmin string
	var open bool
	var database, begin, end time.Time
	err = db.try(ctx, func(ctx context.Context, conn *pgxpool.Conn) error {
		begin = db.local()
		err := conn.QueryRow(ctx, selectSnapshot).Scan(&xmin, &open, &database)
		end = db.local()
		return err
	})
	if err != nil {
		return found, err
	}
	c := &db.condition
	c.mu.Lock()
	c.off = database.Sub(begin.Add(end.Sub(begin) / 2))
	same := open && xmin == c.xmin
	if !same {
		c.xmin, c.since = xmin, time.Now()
	}
	if found.ClockOff = c.off; same {
		found.Behind = time.Since(c.since)
	}
	c.mu.Unlock()
	if !same {
		return found, nil
	}
	err = db.try(ctx, func(ctx context.Context, conn *pgxpool.Conn) error {
		return conn.QueryRow(ctx, selectHolder).Scan(&found.Holder)
	})
	return found, err
}
