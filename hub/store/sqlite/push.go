package sqlite

import (
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"waymark/hub/store"
	"waymark/hub/store/internal/sqlstore"
)

// Push implements store.Store.
func (db *DB) Push(ctx context.Context, agentID string, generation int64, push store.Push) (store.PushResult, error) {
	prepared, err := sqlstore.Prepare(&push)
	if err != nil {
		return store.PushResult{}, fmt.Errorf("push: %w", err)
	}
	p := pusher{heads: &db.heads, agentID: agentID, generation: generation, push: prepared}
	err = db.changes.do(ctx, &job{
		bytes: prepared.Bytes(),
		run: func(ctx context.Context, tx *transaction) (err error) {
			p.tx, p.now, p.after = tx, db.Stamp(), nil
			p.result, err = p.run(ctx, db.clock.keep(db.Keep))
			return err
		},
		committed: func() {
			if p.after != nil {
				p.after()
			}
		},
	})
	if err != nil {
		return store.PushResult{}, fmt.Errorf("push: %w", err)
	}
	db.notices.Give()
	return p.result, nil
}

// pusher is one push within its transaction.
type pusher struct {
	tx         *transaction
	agentID    string
	generation int64
	now        int64
	push       *sqlstore.Prepared
	heads      *heads
	// after remembers the result of the push once it is stored; nil if nothing.
	after  func()
	result store.PushResult
}

func (p *pusher) run(ctx context.Context, keep store.Retention) (store.PushResult, error) {
	state, whole, err := p.state(ctx, keep)
	if err != nil {
		return store.PushResult{}, err
	}
	decided, err := p.push.Decide(state, p.generation, p.now, keep)
	switch {
	case err != nil:
		return store.PushResult{}, refusal{err}
	case !decided.Accepted && state.Head == nil:
		return decided.Result(0), nil
	case !decided.Accepted:
		return decided.Result(state.Head.Revision), nil
	case decided.Same:
		if whole {
			p.after = func() { p.heads.put(p.agentID, &head{past: state.Past, rows: state.Rows}) }
		}
		_, err := p.tx.ExecContext(ctx, sqlstore.UpdateHead, p.version(), p.generation, p.now, p.push.Name(), state.Head.Revision)
		if err == nil {
			err = p.takeOver(ctx, state)
		}
		return decided.Result(state.Head.Revision), err
	}
	revision, numbers, err := p.write(ctx, decided)
	if err == nil {
		err = p.takeOver(ctx, state)
	}
	if err == nil && len(state.Bodies) > 0 {
		_, err = p.tx.ExecContext(ctx, sqlstore.DropUploads, p.agentID)
	}
	if err == nil {
		err = p.pins(ctx, decided, state.Head == nil)
	}
	if err == nil && decided.Cut > 0 {
		err = p.drop(ctx, decided)
	}
	past := append(make([]sqlstore.Past, 0, len(state.Past)+1), sqlstore.Past{Revision: revision, Step: decided.Step, CreatedAt: p.now, Bytes: decided.Bytes})
	for _, old := range state.Past[:min(len(state.Past), keep.Revisions-1)] {
		if old.Revision > decided.Cut {
			past = append(past, old)
		}
	}
	p.after = func() {
		p.heads.forget(p.agentID)
		known := &head{past: past}
		if whole {
			known.rows = apply(state.Rows, decided, numbers)
		}
		p.heads.put(p.agentID, known)
	}
	return decided.Result(revision), err
}

// takeOver updates the agent's row for lists, and makes the session its writer, with its first
// push.
func (p *pusher) takeOver(ctx context.Context, state *sqlstore.State) error {
	if _, err := p.tx.ExecContext(ctx, sqlstore.PushHead, p.agentID); err != nil {
		return err
	}
	if state.Head != nil && state.Head.Generation == p.generation {
		return nil
	}
	_, err := p.tx.ExecContext(ctx, sqlstore.SetWriter, p.agentID, p.generation, p.push.Push.Run, p.push.Push.Hub)
	return err
}

func (p *pusher) version() int64 { return int64(p.push.Push.Snapshot.Version) } //nolint:gosec // CheckPush bounds it

// state reads the agent's stored state, and reports whether it has all rows.
func (p *pusher) state(ctx context.Context, keep store.Retention) (state *sqlstore.State, whole bool, err error) {
	state = &sqlstore.State{}
	err = p.tx.QueryRowContext(ctx, sqlstore.SelectGeneration, p.agentID).Scan(&state.Newest)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, false, refusal{&store.NotFoundError{What: "agent", ID: p.agentID}}
	}
	if err != nil {
		return nil, false, err
	}
	state.Head, err = sqlstore.ScanHead(p.tx.QueryRowContext(ctx, selectHead, p.agentID).Scan)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		state.Head, whole, err = nil, true, nil
	case err == nil:
		whole, err = p.rows(ctx, state, keep)
	}
	if err != nil {
		return nil, false, err
	}
	state.Bodies, err = p.bodies(ctx, p.push.Withheld(state))
	return state, whole, err
}

var selectHead = fmt.Sprintf(sqlstore.SelectHead, "$1")

// rows completes the state with the past and the rows, remembered or read.
func (p *pusher) rows(ctx context.Context, state *sqlstore.State, keep store.Retention) (whole bool, err error) {
	known := p.heads.get(p.agentID, state.Head.Revision)
	if known != nil {
		state.Past, state.Rows = known.past, known.rows
	} else if state.Past, err = sqlstore.ReadPast(ctx, runner{p.tx}, p.agentID, keep.Revisions); err != nil {
		return false, err
	}
	if state.Rows != nil {
		return true, nil
	}
	state.Rows, err = p.stored(ctx)
	return !p.push.Push.Partial(), err
}

// The + keeps SQLite from using the index on names: any number of agents may have a
// payload.
var selectBodies = fmt.Sprintf(sqlstore.SelectBodies, "+body IN (SELECT unhex(value) FROM json_each($2))")

// bodies reads which of the payloads the agent has.
func (p *pusher) bodies(ctx context.Context, names [][]byte) (map[store.Digest]int64, error) {
	if len(names) == 0 {
		return nil, nil
	}
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = hex.EncodeToString(name)
	}
	encoded, err := json.Marshal(list)
	if err != nil {
		return nil, err
	}
	rows, err := p.tx.QueryContext(ctx, selectBodies, p.agentID, string(encoded))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	bodies := make(map[store.Digest]int64)
	for rows.Next() {
		if err := sqlstore.ScanBody(rows.Scan, bodies); err != nil {
			return nil, err
		}
	}
	return bodies, rows.Err()
}

// stored reads the rows that Decide needs.
func (p *pusher) stored(ctx context.Context) (map[string]sqlstore.Stored, error) {
	query := "SELECT " + sqlstore.StoredColumns + " FROM resources WHERE agent_id = $1 AND until IS NULL"
	args := []any{p.agentID}
	if p.push.Push.Partial() {
		ids, err := json.Marshal(p.push.Touched())
		if err != nil {
			return nil, err
		}
		query += " AND id IN (SELECT value FROM json_each($2))"
		args = append(args, string(ids))
	}
	rows, err := p.tx.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	stored := make(map[string]sqlstore.Stored)
	for rows.Next() {
		id, s, err := sqlstore.ScanStored(rows.Scan)
		if err != nil {
			return nil, err
		}
		stored[id] = s
	}
	return stored, rows.Err()
}

// pins updates the agent's pins, and tells readers of them and of the push.
func (p *pusher) pins(ctx context.Context, decided *sqlstore.Plan, first bool) error {
	for _, s := range sqlstore.PinStatements(p.agentID, p.version(), decided, first, p.now) {
		if _, err := p.tx.ExecContext(ctx, s.SQL, s.Args...); err != nil {
			return err
		}
	}
	_, err := p.tx.ExecContext(ctx, pushEvent, p.agentID)
	return err
}

const pushEvent = sqlstore.PushEvents + "(SELECT max(revision) FROM snapshots WHERE agent_id = $1)"

// drop deletes the dropped revisions and everything that only they had.
func (p *pusher) drop(ctx context.Context, decided *sqlstore.Plan) error {
	tx := runner{p.tx}
	if err := sqlstore.DropPast(ctx, tx, p.agentID, decided.Cut); err != nil {
		return err
	}
	bodies, err := sqlstore.DropRows(ctx, tx, p.agentID, decided.Oldest)
	if err != nil {
		return err
	}
	return sqlstore.DropBodies(ctx, tx, bodies)
}
