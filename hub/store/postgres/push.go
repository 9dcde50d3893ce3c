package postgres

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"waymark/hub/store"
	"waymark/hub/store/internal/sqlstore"
)

// Push implements store.Store.
func (db *DB) Push(ctx context.Context, agentID string, generation int64, push store.Push) (store.PushResult, error) {
	prepared, err := sqlstore.Prepare(&push)
	if err != nil {
		return store.PushResult{}, fmt.Errorf("push: %w", err)
	}
	if !store.Findable(agentID) {
		return store.PushResult{}, fmt.Errorf("push: %w", &store.NotFoundError{What: "agent", ID: agentID})
	}
	p := &pusher{agentID: agentID, generation: generation, push: prepared}
	p.key, p.bytes = agentID, prepared.Bytes()+rowBytes*int64(len(prepared.Rows))
	if err := db.pushes.do(ctx, p); err != nil {
		return store.PushResult{}, fmt.Errorf("push: %w", err)
	}
	return p.result, nil
}

// pusher is one push, including its retries.
type pusher struct {
	member

	agentID    string
	generation int64
	push       *sqlstore.Prepared

	// Of this try:
	now    int64
	exists bool // the agent
	pinned bool // the agent has pins
	state  sqlstore.State
	plan   *sqlstore.Plan // nil if nothing is to be written

	// unsure is the result that a try would have had whose commit wasn't answered; nil if
	// there was none.
	unsure *store.PushResult

	result store.PushResult
}

// group is pushes of different agents in one transaction. It takes three round trips: one
// that locks and reads, one that asks which payloads are there, one that writes and
// commits.
type group struct {
	conn *pgx.Conn
	keep store.Retention
	all  []*pusher
	by   map[string]*pusher // agent
	// write and same are those that make a revision, and that bring what is there.
	write, same []*pusher
}

// storeTogether stores pushes, and sets their results. An error is the database's, and of all of them.
func storeTogether(ctx context.Context, db *DB, conn *pgx.Conn, list ...*pusher) error {
	g := &group{conn: conn, keep: db.Keep, all: list, by: make(map[string]*pusher, len(list))}
	for _, p := range list {
		g.by[p.agentID] = p
		p.now, p.exists, p.pinned, p.err, p.plan = db.Stamp(), false, false, nil, nil
		p.state = sqlstore.State{Rows: make(map[string]sqlstore.Stored)}
	}
	err := g.run(ctx)
	switch {
	case err == nil && slices.ContainsFunc(list, func(p *pusher) bool { return p.unsure != nil || p.plan != nil && !p.plan.Same }):
		db.notices.Give()
	case err != nil && !conn.IsClosed():
		_, _ = conn.Exec(ctx, "rollback") // should it fail, the pool closes the connection
	}
	return err
}

func (g *group) run(ctx context.Context) error {
	if err := g.read(ctx); err != nil {
		return err
	}
	if err := g.ownBodies(ctx); err != nil {
		return err
	}
	for _, p := range g.all {
		p.err = p.decide(g.keep)
		switch {
		case p.err != nil || p.plan == nil:
		case p.plan.Same:
			g.same = append(g.same, p)
		default:
			g.write = append(g.write, p)
		}
	}
	if len(g.write)+len(g.same) == 0 {
		_, err := g.conn.Exec(ctx, "rollback") // nothing has changed
		return err
	}
	batch, err := g.changes(ctx)
	if err != nil {
		return err
	}
	return g.commit(ctx, batch)
}

// decide sets the plan, if there is something to write, and the result. An error is a
// refusal.
func (p *pusher) decide(keep store.Retention) error {
	if !p.exists {
		return &store.NotFoundError{What: "agent", ID: p.agentID}
	}
	if p.stored() {
		p.result = *p.unsure
		p.result.Revision = p.state.Head.Revision
		return nil
	}
	decided, err := p.push.Decide(&p.state, p.generation, p.now, keep)
	if err != nil {
		return err
	}
	p.result = decided.Result(0)
	if p.state.Head != nil {
		p.result.Revision = p.state.Head.Revision
	}
	if decided.Accepted {
		p.plan = decided
	}
	return nil
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

// commit runs the batch and ends the transaction. Unknown results are remembered for the
// next try.
func (g *group) commit(ctx context.Context, batch *pgx.Batch) error {
	ids := make([]string, 0, len(g.all))
	for _, p := range slices.Concat(g.write, g.same) {
		ids = append(ids, p.agentID)
	}
	batch.Queue(pushHeads, ids)
	batch.Queue("commit")
	err := g.conn.SendBatch(ctx, batch).Close()
	if err != nil && (code(err) == "" || g.conn.IsClosed()) {
		for _, p := range g.all {
			if p.plan != nil {
				result := p.result
				p.unsure = &result
			}
		}
	}
	return err
}

const (
	// begin sets the isolation level explicitly: with a higher one, a push would see the
	// state from before it had its agent's lock.
	begin       = "begin isolation level read committed"
	ofEach      = " FROM unnest($1::text[]) AS a (id) CROSS JOIN LATERAL ("
	selectFound = "SELECT id, generation, EXISTS (SELECT 1 FROM pins WHERE agent_id = agents.id) FROM agents WHERE id = ANY($1)"
	// selectRows is for complete pushes, selectSome for partial ones, which need the rows
	// that they name.
	selectRows = "SELECT agent_id, " + sqlstore.StoredColumns + " FROM resources WHERE agent_id = ANY($1) AND until IS NULL"
	selectSome = "SELECT agent_id, " + sqlstore.StoredColumns + ` FROM unnest($1::text[], $2::text[]) AS u (agent, name)
		JOIN resources ON agent_id = u.agent AND id = u.name AND until IS NULL`
)

var (
	selectHeads = "SELECT a.id, s.*" + ofEach + fmt.Sprintf(sqlstore.SelectHead, "a.id") + ") AS s"
	selectPasts = "SELECT a.id, s.*" + ofEach + fmt.Sprintf(sqlstore.SelectPast, "a.id") + ") AS s"
)

// read begins the transaction, locks the agents and reads their stored state.
func (g *group) read(ctx context.Context) error {
	ids, locks := make([]string, 0, len(g.all)), make([]string, 0, len(g.all))
	var whole, some, names []string
	for _, p := range g.all {
		ids, locks = append(ids, p.agentID), append(locks, "agent "+p.agentID)
		if !p.push.Push.Partial() {
			whole = append(whole, p.agentID)
			continue
		}
		for _, name := range p.push.Touched() {
			some, names = append(some, p.agentID), append(names, name)
		}
	}
	batch := &pgx.Batch{}
	batch.Queue(begin)
	batch.Queue(lockTexts, locks)
	g.queue(batch, selectFound, []any{ids}, func(scan scanner) (func(*pusher), error) {
		var newest int64
		var pinned bool
		err := scan(&newest, &pinned)
		return func(p *pusher) { p.exists, p.state.Newest, p.pinned = true, newest, pinned }, err
	})
	g.queue(batch, selectHeads, []any{ids}, func(scan scanner) (func(*pusher), error) {
		head, err := sqlstore.ScanHead(scan)
		return func(p *pusher) { p.state.Head = head }, err
	})
	g.queue(batch, selectPasts, []any{ids, g.keep.Revisions}, func(scan scanner) (func(*pusher), error) {
		past, err := sqlstore.ScanPast(scan)
		return func(p *pusher) { p.state.Past = append(p.state.Past, past) }, err
	})
	row := func(scan scanner) (func(*pusher), error) {
		id, stored, err := sqlstore.ScanStored(scan)
		return func(p *pusher) { p.state.Rows[id] = stored }, err
	}
	if len(whole) > 0 {
		g.queue(batch, selectRows, []any{whole}, row)
	}
	if len(some) > 0 {
		g.queue(batch, selectSome, []any{some, names}, row)
	}
	return g.conn.SendBatch(ctx, batch).Close()
}

// scanner reads the columns of a row behind the first.
type scanner = func(dest ...any) error

// queue adds a query whose rows begin with an agent. take reads the rest, for its pusher.
func (g *group) queue(batch *pgx.Batch, query string, args []any, take func(scanner) (func(*pusher), error)) {
	batch.Queue(query, args...).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var id string
			taken, err := take(func(dest ...any) error { return rows.Scan(append([]any{&id}, dest...)...) })
			if err != nil {
				return err
			}
			taken(g.by[id])
		}
		return rows.Err()
	})
}

var selectOwn = fmt.Sprintf(sqlstore.SelectBodies, "body = ANY($2)")

// ownBodies reads which payloads the agents have that aren't in the pushes. It costs a round
// trip if any of them don't follow from the rows.
func (g *group) ownBodies(ctx context.Context) error {
	batch := &pgx.Batch{}
	for _, p := range g.all {
		names := p.push.Withheld(&p.state)
		if len(names) == 0 {
			continue
		}
		p.state.Bodies = make(map[store.Digest]int64)
		batch.Queue(selectOwn, p.agentID, names).Query(func(rows pgx.Rows) error {
			for rows.Next() {
				if err := sqlstore.ScanBody(rows.Scan, p.state.Bodies); err != nil {
					return err
				}
			}
			return rows.Err()
		})
	}
	if batch.Len() == 0 {
		return nil
	}
	return g.conn.SendBatch(ctx, batch).Close()
}
