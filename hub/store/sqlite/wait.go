package sqlite

import (
	"context"
	"database/sql"
	"os"
	"strings"
	"time"
)

// pollEvery is how soon Wait sees what another process pushed into the same
// file; the pushes of its own process it sees at once.
const pollEvery = time.Second

// Wait implements store.Store.
func (db *DB) Wait(ctx context.Context, after int64) (int64, error) {
	return db.newest.Wait(ctx, after, pollEvery, func(ctx context.Context) (revision int64, err error) {
		err = db.read.QueryRowContext(ctx, "SELECT value FROM revision").Scan(&revision)
		return revision, err
	})
}

// bootGap is more than the revisions that a crash of the machine can take
// back: WAL is synced at least every thousand pages, and a push writes some.
const bootGap = 1_000_000

// noteBoot moves the revision up when the machine has been started since the
// database was last opened. It may have crashed: then the last pushes were
// lost, but somebody may have read them, and would take new ones of the same
// revisions for known. Where the system doesn't tell, nothing is done.
func noteBoot(ctx context.Context, pool *sql.DB) error {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	boot := strings.TrimSpace(string(id))
	if err != nil || boot == "" {
		return nil //nolint:nilerr // not Linux
	}
	_, err = pool.ExecContext(ctx,
		`UPDATE revision SET boot = $1, value = CASE WHEN boot = '' OR value = 0 THEN value ELSE value + $2 END
		 WHERE boot <> $1`, boot, bootGap)
	return err
}
