package postgres

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"waymark/hub/store"
	"waymark/hub/store/internal/sqlstore"
	"waymark/internal/await"
)

const (
	// channel is where hubs tell each other that there is something new.
	channel = "waymark_news"
	// noticeEvery bounds how often a hub wakes up the others.
	noticeEvery = 20 * time.Millisecond
	// pollEvery is how much a lost notice delays a reader.
	pollEvery = 2 * time.Second
	// checkEvery is how long a silent connection is believed to be alive.
	checkEvery = 15 * time.Second
	// checkTimeout is the limit for one query.
	checkTimeout = 5 * time.Second

	firstReconnect = 100 * time.Millisecond
	lastReconnect  = 5 * time.Second
)

// bus tells other hubs of news, and this one of theirs. NOTIFY is a statement of its own,
// for all that was committed in a while: in a transaction that writes it holds a lock of the
// whole database until the commit is on disk, so that all hubs' commits would wait for each
// other. A notice that is lost delays readers by pollEvery.
//
// Listening starts with the first Wait, because most programs that open a store don't wait.
type bus struct {
	db      *DB
	config  *pgx.ConnConfig
	notices *sqlstore.Notices
	log     *slog.Logger
	// me is in the notices of this hub, which it knows already.
	me string

	// ctx ends when close is called.
	ctx    context.Context //nolint:containedctx // the bus's life
	cancel context.CancelFunc
	start  sync.Once
	done   sync.WaitGroup
}

// startBus starts telling.
func startBus(db *DB, config *pgx.ConnConfig) *bus {
	config = config.Copy()
	config.RuntimeParams["application_name"] += "-listen"
	b := &bus{db: db, config: config, notices: db.notices, log: db.log, me: uuid.NewString()}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	b.done.Go(b.tell)
	return b
}

// close ends the bus and waits for it. It may be called twice, and on nil.
func (b *bus) close() {
	if b == nil {
		return
	}
	b.cancel()
	b.start.Do(func() {}) // prevents a later start
	b.done.Wait()
}

// Wait implements store.Following.
func (db *DB) Wait(ctx context.Context, after store.Cursor) error {
	db.bus.start.Do(func() { db.bus.done.Go(db.bus.run) })
	return db.notices.Wait(ctx, after.Heard, pollEvery)
}

// tell tells the others of what is committed here, until close.
func (b *bus) tell() {
	for b.ctx.Err() == nil {
		select {
		case <-b.notices.Own():
			b.notify(b.ctx)
			_ = await.Sleep(b.ctx, noticeEvery) // the loop checks ctx
		case <-b.ctx.Done():
		}
	}
	select {
	case <-b.notices.Own():
		b.notify(context.WithoutCancel(b.ctx))
	default:
	}
}

// notify sends one notice. The others look by themselves if it is lost.
func (b *bus) notify(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	if _, err := b.db.pool.Exec(ctx, "SELECT pg_notify($1, $2)", channel, b.me); err != nil {
		b.log.Debug("other hubs not told", slog.Any("error", err))
	}
}

// run listens until close, over any number of connections.
func (b *bus) run() {
	pauses := await.Backoff{Shortest: firstReconnect, Longest: lastReconnect, Jitter: true}
	for {
		heard, err := b.listen()
		if b.ctx.Err() != nil {
			return
		}
		if heard {
			pauses.Reset()
		}
		pause := pauses.Next()
		b.log.Warn("not listening to the database", slog.Any("error", err), slog.Duration("again_in", pause))
		if await.Sleep(b.ctx, pause) != nil {
			return
		}
	}
}

// listen listens on one connection until it fails, and reports whether it ever succeeded.
func (b *bus) listen() (heard bool, err error) {
	conn, err := connect(b.ctx, b.config)
	if err != nil {
		return false, err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(b.ctx), checkTimeout)
		defer cancel()
		_ = conn.Close(ctx)
	}()
	ctx, cancel := context.WithTimeout(b.ctx, checkTimeout)
	defer cancel()
	// It may be another server than before.
	if err := checkCluster(ctx, conn); err != nil {
		return false, err
	}
	if _, err := conn.Exec(ctx, "LISTEN "+channel); err != nil {
		return false, err
	}
	for {
		// At first for what came while nobody listened.
		b.notices.Hear()
		if err := b.next(conn); err != nil {
			return true, err
		}
	}
}

// next waits for a notice of another hub.
func (b *bus) next(conn *pgx.Conn) error {
	for {
		ctx, cancel := context.WithTimeout(b.ctx, checkEvery)
		notice, err := conn.WaitForNotification(ctx)
		cancel()
		switch {
		case err == nil && notice.Payload != b.me:
			return nil
		case err == nil:
		case pgconn.Timeout(err) && !conn.IsClosed() && b.ctx.Err() == nil:
			if err := ping(b.ctx, conn); err != nil {
				return err
			}
		default:
			return err
		}
	}
}

// ping finds out whether the server is still there.
func ping(ctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	return conn.Ping(ctx)
}
