package postgres

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"waymark/hub/store"
	"waymark/hub/store/internal/sqlstore"
)

const (
	// defaultConns suffices for a hub: what it does takes milliseconds.
	// PostgreSQL's default limit is a hundred connections.
	defaultConns = 10
	// connectTimeout is per host of the URL.
	connectTimeout = 5 * time.Second
	// operationTimeout limits one call of a method, including retries.
	operationTimeout = 30 * time.Second
)

// sessionDefaults are settings that the URL may override. They limit how long a hanging hub
// can block others, and others a hub.
var sessionDefaults = map[string]string{
	"application_name":                    "waymark-hub",
	"statement_timeout":                   "20s",
	"lock_timeout":                        "10s",
	"idle_in_transaction_session_timeout": "60s",
}

// Options configure a DB. The zero value works.
type Options struct {
	// Now is the clock in the place of the database's; nil means that. Local is this
	// machine's; nil means time.Now.
	Now, Local func() time.Time
	// History is how much of the past is kept.
	History store.Retention
	// MaxConns limits this hub's connections, plus one for listening. 0 means the URL's
	// pool_max_conns, or 10.
	MaxConns int
	// Existing opens only a schema that a hub has made, and creates nothing.
	Existing bool
	// Logger gets errors of background work; nil discards them.
	Logger *slog.Logger
}

// core has most methods of store.Store.
type core = sqlstore.Core

// DB is a store.Store in a PostgreSQL database.
type DB struct {
	*core
	log     *slog.Logger
	pool    *pgxpool.Pool
	notices *sqlstore.Notices
	bus     *bus
	pushes  *groups[*pusher]
	begins  *groups[*beginner]
	lookups *groups[*lookup]
	uploads *groups[*uploader]
	health  health
	// local is this machine's clock.
	local     func() time.Time
	condition condition
	pruning   *sqlstore.Pruning

	closeOnce sync.Once
}

var _ store.Store = (*DB)(nil)

// textList is sqlstore.Core.TextList.
const textList = "SELECT json_array_elements_text($1::json)"

// joinOne is sqlstore.Core.JoinOne. The planner doesn't look into a subquery with a limit.
func joinOne(table, condition string) string {
	return "CROSS JOIN LATERAL (SELECT * FROM " + table + " WHERE " + condition + " LIMIT 1) AS " + table[len(table)-1:]
}

// endedList is sqlstore.Core.EndedList.
const endedList = "SELECT agent_id, generation, last FROM json_to_recordset($1::json) AS ended (agent_id text, generation bigint, last boolean)"

// saidList is sqlstore.Core.SaidList.
const saidList = "SELECT * FROM json_to_recordset($1::json) AS said (id text, hostname text, hostname_key text, root text, root_key text, agent_version text, version_key text, about text)"

// Check reports whether url can name a database, without connecting. Errors never contain a
// password.
func Check(url string) error {
	_, err := pgxpool.ParseConfig(url)
	return err
}

// Open opens the database that a libpq URL ("postgres://user@host/name?…") names, and
// migrates its schema. The caller closes it.
//
// # Errors
//
// With Options.Existing, store.ErrNone says that there is no hub's schema.
// store.ErrForeign, store.ErrNewerSchema and store.ErrOtherSchema say why a database can't
// be used; it isn't changed then. Errors never contain a password.
func Open(ctx context.Context, url string, opts Options) (*DB, error) {
	if opts.Local == nil {
		opts.Local = time.Now
	}
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	config, err := configure(url, opts.MaxConns)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	where := fmt.Sprintf("%s on %s", config.ConnConfig.Database, config.ConnConfig.Host)
	db := &DB{log: opts.Logger, local: opts.Local, notices: sqlstore.NewNotices()}
	if opts.Now == nil {
		opts.Now = func() time.Time { return db.condition.now(db.local) }
	}
	db.core = &core{Database: sqlstore.Audited(database{db}), TextList: textList, EndedList: endedList, SaidList: saidList, JoinOne: joinOne, Now: opts.Now, Keep: opts.History.Effective(), Notices: db.notices,
		Log: eventSQL, NextRevision: "SELECT nextval('revision')", Lock: lockTexts}
	if err := db.open(ctx, config, opts.Existing); err != nil {
		_ = db.Close()
		return nil, fmt.Errorf("open database %s: %w", where, clarify(err))
	}
	db.bus, db.pushes = startBus(db, config.ConnConfig), newGroups(db, pushCommitters, storeTogether)
	db.begins, db.lookups = newGroups(db, beginCommitters, beginTogether), newGroups(db, lookupCommitters, lookUpTogether)
	db.uploads = newGroups(db, uploadCommitters, uploadTogether)
	db.pruning = sqlstore.StartPruning(db.Prune, opts.Logger)
	return db, nil
}

func (db *DB) open(ctx context.Context, config *pgxpool.Config, existing bool) (err error) {
	if err := prepare(ctx, config.ConnConfig, existing); err != nil {
		return err
	}
	if db.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return err
	}
	_, err = db.Condition(ctx)
	return err
}

// configure parses the URL and adds this package's defaults.
func configure(url string, maxConns int) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	switch {
	case maxConns > 0:
		config.MaxConns = int32(min(maxConns, 1000))
	case !strings.Contains(url, "pool_max_conns"):
		config.MaxConns = defaultConns
	}
	conn := config.ConnConfig
	for name, value := range sessionDefaults {
		if _, set := conn.RuntimeParams[name]; !set {
			conn.RuntimeParams[name] = value
		}
	}
	if !strings.Contains(url, "connect_timeout") {
		conn.ConnectTimeout = connectTimeout
	}
	// Of several hosts, use the one that accepts writes, also after a failover.
	if conn.ValidateConnect == nil {
		conn.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	// A server that disappears silently is noticed within half a minute.
	dialer := &net.Dialer{KeepAliveConfig: net.KeepAliveConfig{
		Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 3,
	}}
	conn.DialFunc = dialer.DialContext
	return config, nil
}

// Close implements store.Store.
func (db *DB) Close() error {
	db.closeOnce.Do(func() {
		db.notices.Close()
		db.pushes.close()
		db.begins.close()
		db.lookups.close()
		db.uploads.close()
		db.bus.close()
		db.health.close()
		db.pruning.Close()
		if db.pool != nil {
			db.pool.Close()
		}
	})
	return nil
}

// connect opens a connection outside the pool.
func connect(ctx context.Context, config *pgx.ConnConfig) (*pgx.Conn, error) {
	return pgx.ConnectConfig(ctx, config.Copy())
}
