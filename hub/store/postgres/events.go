package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"waymark/hub/store/internal/sqlstore"
)

// eventSQL orders events by transaction. Ids of transactions are given in the order of
// their first writes, so what has a lower one than all that are under way is settled.
var eventSQL = sqlstore.EventSQL{
	Now: `SELECT epoch, xid::text::bigint, n, pg_snapshot_xmin(pg_current_snapshot())::text::bigint, 0::bigint, pg_current_snapshot()::text FROM events_kept`,
	Page: eventColumns + "(e.xid, e.n) > ($1::bigint::text::xid8, $2::bigint) AND e.xid < $3::bigint::text::xid8" + sqlstore.EventListed +
		" ORDER BY e.xid, e.n LIMIT $4",
	Ahead: eventColumns + "e.xid >= $1::bigint::text::xid8" + sqlstore.EventListed + " ORDER BY e.xid, e.n LIMIT $2",
	// Of transactions that were under way then, or begin later.
	Unseen: eventColumns + `(e.xid >= pg_snapshot_xmax($1::text::pg_snapshot) OR e.xid = ANY (ARRAY(SELECT pg_snapshot_xip($1::text::pg_snapshot))))` +
		sqlstore.EventListed + " ORDER BY e.xid, e.n LIMIT $2",
	Oldest: "SELECT xid::text::bigint, n, at FROM events ORDER BY xid, n LIMIT $1",
	Delete: "DELETE FROM events WHERE (xid, n) <= ($1::bigint::text::xid8, $2::bigint)",
	Floor:  "UPDATE events_kept SET xid = $1::bigint::text::xid8, n = $2",
}

const eventColumns = "SELECT e.xid::text::bigint, e.n, " + sqlstore.EventColumns

// lockTexts locks texts until the end of the transaction, in one order for all. It writes
// nothing, so that a transaction that waits for a lock holds no reader of events up, and gets
// its id after that of whoever had the lock before.
const lockTexts = `SELECT pg_advisory_xact_lock(k) FROM (
	SELECT DISTINCT hashtextextended(current_schema() || ' ' || t, 0) AS k FROM unnest($1::text[]) t ORDER BY k) AS sorted`

// beginEpoch makes all cursors that readers have invalid, and forgets the events, whose
// order is that of another cluster's transactions.
func beginEpoch(ctx context.Context, conn interface {
	Exec(ctx context.Context, query string, args ...any) (pgconn.CommandTag, error)
}, cluster string) error {
	_, err := conn.Exec(ctx, `WITH gone AS (DELETE FROM events)
		UPDATE events_kept SET epoch = left(replace(gen_random_uuid()::text, '-', ''), 12), cluster = coalesce(nullif($1, ''), cluster),
		  xid = pg_snapshot_xmin(pg_current_snapshot()), n = 0`, cluster)
	return err
}

// checkCluster begins a new epoch if the database is served by another server than before,
// or by one that went on from a copy: a standby that took over, or a base backup. Ids of
// transactions may come again there.
func checkCluster(ctx context.Context, conn *pgx.Conn) error {
	var known, now string
	err := conn.QueryRow(ctx, `SELECT cluster, (SELECT system_identifier::text FROM pg_control_system()) || '/' || left(pg_walfile_name(pg_current_wal_lsn()), 8)
		FROM events_kept`).Scan(&known, &now)
	if err != nil || known == now {
		return err
	}
	return beginEpoch(ctx, conn, now)
}
