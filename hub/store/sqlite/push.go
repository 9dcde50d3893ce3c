package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"waymark/hub/store"
	"waymark/hub/store/internal/plan"
	"waymark/hub/store/internal/sqlstore"
)

// Push implements store.Store.
func (db *DB) Push(ctx context.Context, agentID string, generation int64, push store.Push) (store.PushResult, error) {
	prepared, err := plan.Prepare(&push)
	if err != nil {
		return store.PushResult{}, fmt.Errorf("push: %w", err)
	}
	var result store.PushResult
	err = db.update(ctx, func(tx *sql.Tx) error {
		p := pusher{tx: tx, agentID: agentID, generation: generation, now: db.Stamp(), push: prepared}
		result, err = p.run(ctx, db.Keep)
		return err
	})
	if err != nil {
		return store.PushResult{}, fmt.Errorf("push: %w", err)
	}
	db.newest.Announce(result.Revision)
	return result, nil
}

// pusher is one push within its transaction.
type pusher struct {
	tx         *sql.Tx
	agentID    string
	generation int64
	now        int64
	push       *plan.Prepared
}

func (p *pusher) run(ctx context.Context, keep store.Retention) (store.PushResult, error) {
	state, err := p.state(ctx, keep)
	if err != nil {
		return store.PushResult{}, err
	}
	decided, err := p.push.Decide(state, p.generation, p.now, keep)
	switch {
	case err != nil:
		return store.PushResult{}, err
	case !decided.Accepted:
		return decided.Result(state.Head.Revision), nil
	case decided.Same:
		_, err := p.tx.ExecContext(ctx, sqlstore.UpdateHead, p.version(), p.generation, p.now, state.Head.Revision)
		return decided.Result(state.Head.Revision), err
	}
	revision, err := p.write(ctx, decided)
	if err == nil {
		err = p.pins(ctx, decided, state.Head == nil)
	}
	if err == nil && decided.Cut > 0 {
		err = p.drop(ctx, decided)
	}
	return decided.Result(revision), err
}

func (p *pusher) version() int64 { return int64(p.push.Push.Snapshot.Version) } //nolint:gosec // CheckPush bounds it

// state reads what is stored of the agent.
func (p *pusher) state(ctx context.Context, keep store.Retention) (*plan.State, error) {
	state := &plan.State{}
	err := p.tx.QueryRowContext(ctx, sqlstore.SelectGeneration, p.agentID).Scan(&state.Newest)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, &store.NotFoundError{What: "agent", ID: p.agentID}
	}
	if err != nil {
		return nil, err
	}
	head, err := sqlstore.ScanHead(p.tx.QueryRowContext(ctx, sqlstore.SelectHead, p.agentID).Scan)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return state, nil
	case err != nil:
		return nil, err
	}
	state.Head = head
	if state.Past, err = sqlstore.ReadPast(ctx, runner{p.tx}, p.agentID, keep.Revisions); err != nil {
		return nil, err
	}
	state.Rows, err = p.stored(ctx)
	return state, err
}

// stored reads what Decide has to know of the rows.
func (p *pusher) stored(ctx context.Context) (map[string]plan.Stored, error) {
	query := sqlstore.SelectStored
	args := []any{p.agentID}
	if p.push.Push.Delta {
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
	stored := make(map[string]plan.Stored)
	for rows.Next() {
		id, s, err := sqlstore.ScanStored(rows.Scan)
		if err != nil {
			return nil, err
		}
		stored[id] = s
	}
	return stored, rows.Err()
}

// pins brings the agent's pins up to date.
func (p *pusher) pins(ctx context.Context, decided *plan.Plan, first bool) error {
	hash := sqlstore.NotNull(p.push.Push.Snapshot.AggregateHash)
	for _, s := range sqlstore.PinStatements(p.agentID, p.version(), hash, p.push, decided, first, p.now) {
		if _, err := p.tx.ExecContext(ctx, s.SQL, s.Args...); err != nil {
			return err
		}
	}
	return nil
}

// drop deletes the revisions that go and all that only they had.
func (p *pusher) drop(ctx context.Context, decided *plan.Plan) error {
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
