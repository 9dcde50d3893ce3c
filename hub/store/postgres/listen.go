package postgres

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"waymark/hub/store/internal/sqlstore"
	"waymark/internal/backoff"
)

const (
	// checkEvery is how long a silent connection is believed to be alive, and how much a
	// lost notification can delay a reader.
	checkEvery = 15 * time.Second
	// checkTimeout is the limit for one query.
	checkTimeout = 5 * time.Second

	firstReconnect = 100 * time.Millisecond
	lastReconnect  = 5 * time.Second
)

// listener receives notifications of other hubs' pushes. It starts with the first Wait,
// because most programs that open a store don't wait.
type listener struct {
	config *pgx.ConnConfig
	newest *sqlstore.Revision
	log    *slog.Logger

	// ctx ends when close is called.
	ctx    context.Context //nolint:containedctx // the listener's life
	cancel context.CancelFunc
	start  sync.Once
	done   sync.WaitGroup
}

func newListener(config *pgx.ConnConfig, revision *sqlstore.Revision, log *slog.Logger) *listener {
	config = config.Copy()
	config.RuntimeParams["application_name"] += "-listen"
	l := &listener{config: config, newest: revision, log: log}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

// close ends the listener and waits for it. It may be called twice, and on nil.
func (l *listener) close() {
	if l == nil {
		return
	}
	l.cancel()
	l.start.Do(func() {}) // prevents a later start
	l.done.Wait()
}

// Wait implements store.Store.
func (db *DB) Wait(ctx context.Context, after int64) (int64, error) {
	db.listen.start.Do(func() { db.listen.done.Go(db.listen.run) })
	return db.newest.Wait(ctx, after, 0, func(ctx context.Context) (revision int64, err error) {
		ctx, cancel := context.WithTimeout(ctx, checkTimeout)
		defer cancel()
		err = db.pool.QueryRow(ctx, sqlstore.SelectRevision).Scan(&revision)
		return revision, err
	})
}

// run listens until close, over any number of connections.
func (l *listener) run() {
	pauses := backoff.Backoff{Shortest: firstReconnect, Longest: lastReconnect, Jitter: true}
	for {
		heard, err := l.listen()
		if l.ctx.Err() != nil {
			return
		}
		if heard {
			pauses.Reset()
		}
		pause := pauses.Next()
		l.log.Warn("not listening to the database", slog.Any("error", err), slog.Duration("again_in", pause))
		if backoff.Sleep(l.ctx, pause) != nil {
			return
		}
	}
}

// listen listens on one connection until it fails, and reports whether it ever succeeded.
func (l *listener) listen() (heard bool, err error) {
	conn, err := connect(l.ctx, l.config)
	if err != nil {
		return false, err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(l.ctx), checkTimeout)
		defer cancel()
		_ = conn.Close(ctx)
	}()
	if err := l.exec(conn, "LISTEN "+channel); err != nil {
		return false, err
	}
	for {
		// First read what arrived while nobody listened, then what the notification
		// announced.
		if err := l.read(conn); err != nil {
			return heard, err
		}
		heard = true
		if err := l.next(conn); err != nil {
			return heard, err
		}
	}
}

// next waits for a notification, or until it is time to read anyway.
func (l *listener) next(conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(l.ctx, checkEvery)
	defer cancel()
	_, err := conn.WaitForNotification(ctx)
	if err != nil && pgconn.Timeout(err) && !conn.IsClosed() {
		return nil
	}
	return err
}

// read reads the newest revision.
func (l *listener) read(conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(l.ctx, checkTimeout)
	defer cancel()
	var revision int64
	if err := conn.QueryRow(ctx, sqlstore.SelectRevision).Scan(&revision); err != nil {
		return err
	}
	l.newest.Reset(revision)
	return nil
}

func (l *listener) exec(conn *pgx.Conn, statement string) error {
	ctx, cancel := context.WithTimeout(l.ctx, checkTimeout)
	defer cancel()
	_, err := conn.Exec(ctx, statement)
	return err
}
