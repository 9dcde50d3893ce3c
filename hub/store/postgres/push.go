package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"waymark/hub/store"
	"waymark/hub/store/internal/plan"
	"waymark/hub/store/internal/sqlstore"
)

// Push implements store.Store. It takes three round trips: one that locks and
// reads, one that asks which payloads are there, one that writes and commits.
func (db *DB) Push(ctx context.Context, agentID string, generation int64, push store.Push) (store.PushResult, error) {
	prepared, err := plan.Prepare(&push)
	if err != nil {
		return store.PushResult{}, fmt.Errorf("push: %w", err)
	}
	if !store.Findable(agentID) {
		return store.PushResult{}, fmt.Errorf("push: %w", &store.NotFoundError{What: "agent", ID: agentID})
	}
	p := &pusher{agentID: agentID, generation: generation, push: prepared, keep: db.Keep}
	err = db.try(ctx, func(ctx context.Context, conn *pgxpool.Conn) error {
		p.conn, p.now = conn.Conn(), db.Stamp()
		err := p.run(ctx)
		if err != nil && !p.conn.IsClosed() {
			_, _ = p.conn.Exec(ctx, "rollback") // should it fail, the pool closes the connection
		}
		return err
	})
	if err != nil {
		return store.PushResult{}, fmt.Errorf("push: %w", err)
	}
	db.newest.Announce(p.result.Revision)
	return p.result, nil
}

// pusher is one push, including its retries.
type pusher struct {
	agentID    string
	generation int64
	push       *plan.Prepared
	keep       store.Retention

	// Of this try:
	conn  *pgx.Conn
	now   int64
	state plan.State
	plan  *plan.Plan

	// unsure is the result that a try would have had whose commit wasn't answered; nil if
	// there was none.
	unsure *store.PushResult
	result store.PushResult
}

func (p *pusher) run(ctx context.Context) error {
	if err := p.read(ctx); err != nil {
		return err
	}
	if p.stored() {
		p.result = *p.unsure
		p.result.Revision = p.state.Head.Revision
		return p.end(ctx)
	}
	if err := p.ownBodies(ctx); err != nil {
		return err
	}
	decided, err := p.push.Decide(&p.state, p.generation, p.now, p.keep)
	if err != nil {
		return err
	}
	p.plan = decided
	p.result = decided.Result(0)
	if p.state.Head != nil {
		p.result.Revision = p.state.Head.Revision
	}
	switch {
	case !decided.Accepted:
		return p.end(ctx)
	case decided.Same:
		return p.confirm(ctx)
	}
	return p.write(ctx)
}

// stored reports whether an earlier try was stored after all. Only this session can have
// stored something with its generation, and a session's versions rise. (An initial push may
// be repeated: it changes nothing then.)
func (p *pusher) stored() bool {
	head := p.state.Head
	return p.unsure != nil && !p.push.Push.Initial &&
		head != nil && head.Generation == p.generation && head.Version == p.version()
}

func (p *pusher) version() int64 { return int64(p.push.Push.Snapshot.Version) } //nolint:gosec // CheckPush bounds it

// end ends a transaction that has changed nothing.
func (p *pusher) end(ctx context.Context) error {
	_, err := p.conn.Exec(ctx, "rollback")
	return err
}

// begin sets the isolation level explicitly: with a higher one, a push would see the state
// from before it had its agent's lock.
const begin = "begin isolation level read committed"

const (
	lockAgent = sqlstore.SelectGeneration + " FOR NO KEY UPDATE"
	// selectSome is for a partial push, which needs the rows that it names.
	selectSome = sqlstore.SelectStored + " AND id = ANY($2)"
)

// read begins the transaction, locks the agent and reads its stored state.
func (p *pusher) read(ctx context.Context) error {
	p.state = plan.State{Rows: make(map[string]plan.Stored)}
	batch := &pgx.Batch{}
	batch.Queue(begin)
	batch.Queue(lockAgent, p.agentID).QueryRow(func(row pgx.Row) error {
		err := row.Scan(&p.state.Newest)
		if errors.Is(err, pgx.ErrNoRows) {
			return &store.NotFoundError{What: "agent", ID: p.agentID}
		}
		return err
	})
	batch.Queue(sqlstore.SelectHead, p.agentID).QueryRow(func(row pgx.Row) error {
		head, err := sqlstore.ScanHead(row.Scan)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		p.state.Head = head
		return err
	})
	batch.Queue(sqlstore.SelectPast, p.agentID, p.keep.Revisions).Query(func(rows pgx.Rows) (err error) {
		p.state.Past, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (plan.Past, error) {
			return sqlstore.ScanPast(row.Scan)
		})
		return err
	})
	if p.push.Push.Partial() {
		batch.Queue(selectSome, p.agentID, p.push.Touched()).Query(p.readRows)
	} else {
		batch.Queue(sqlstore.SelectStored, p.agentID).Query(p.readRows)
	}
	return p.conn.SendBatch(ctx, batch).Close()
}

var selectOwn = fmt.Sprintf(sqlstore.SelectBodies, "body = ANY($2)")

// ownBodies reads which payloads the agent has that aren't in the push. It costs a round
// trip if any of them don't follow from the rows.
func (p *pusher) ownBodies(ctx context.Context) error {
	names := p.push.Withheld(&p.state)
	if len(names) == 0 {
		return nil
	}
	rows, err := p.conn.Query(ctx, selectOwn, p.agentID, names)
	if err != nil {
		return err
	}
	defer rows.Close()
	p.state.Bodies = make(map[store.Digest]int64)
	for rows.Next() {
		if err := sqlstore.ScanBody(rows.Scan, p.state.Bodies); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (p *pusher) readRows(rows pgx.Rows) error {
	for rows.Next() {
		id, s, err := sqlstore.ScanStored(rows.Scan)
		if err != nil {
			return err
		}
		p.state.Rows[id] = s
	}
	return rows.Err()
}
