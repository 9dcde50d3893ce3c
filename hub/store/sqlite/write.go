package sqlite

import (
	"context"
	"fmt"
	"strings"

	"waymark/hub/store/internal/sqlstore"
)

// write writes a plan as a new revision, and returns the revision and the numbers of the
// written rows.
func (p *pusher) write(ctx context.Context, decided *sqlstore.Plan) (revision int64, numbers []int64, err error) {
	err = p.tx.QueryRowContext(ctx, nextRevision).Scan(&revision)
	if err != nil {
		return 0, nil, err
	}
	head := &decided.Head
	_, err = p.tx.ExecContext(ctx,
		`INSERT INTO snapshots (revision, agent_id, step, generation, version, aggregate_hash, snapshot_error, plugins,
		   resources, payload_bytes, written_bytes, created_at, received_at, added, changed, removed, touched, discovery, summary, failing, row_bytes, name)
		 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21)`,
		revision, p.agentID, decided.Step, p.generation, p.version(), []byte(head.Hash), head.SnapshotError, head.Plugins,
		decided.Resources, decided.PayloadBytes, decided.Bytes, p.now,
		decided.Added, decided.Changed, decided.Removed, decided.TouchedJSON,
		head.Discovery, head.Summary, head.Failing, decided.RowBytes, p.push.Name())
	if err != nil {
		return 0, nil, err
	}
	if err := p.end(ctx, decided.Close, decided.Step); err != nil {
		return 0, nil, err
	}
	for _, f := range decided.Facts {
		if _, err := p.tx.ExecContext(ctx, "UPDATE resources SET facts = $1, whole = $2 WHERE number = $3", f.JSON, f.Whole, f.Row); err != nil {
			return 0, nil, err
		}
	}
	numbers, err = p.insert(ctx, decided.Write, decided.Step)
	return revision, numbers, err
}

// end ends the validity of the rows at the step.
func (p *pusher) end(ctx context.Context, numbers []int64, step int64) error {
	for _, number := range numbers {
		if _, err := p.tx.ExecContext(ctx, "UPDATE resources SET until = $1 WHERE number = $2", step, number); err != nil {
			return err
		}
	}
	return nil
}

var (
	insertRow = "INSERT INTO resources (" + sqlstore.WrittenColumns +
		") VALUES (?" + strings.Repeat(", ?", strings.Count(sqlstore.WrittenColumns, ",")) + ")"
	takeUpload = fmt.Sprintf(sqlstore.TakeUploads, "body = $2")
)

func (p *pusher) insert(ctx context.Context, rows []sqlstore.Write, step int64) (numbers []int64, err error) {
	numbers = make([]int64, len(rows))
	for i := range rows {
		if numbers[i], err = p.insertOne(ctx, &rows[i], step); err != nil {
			return nil, err
		}
	}
	return numbers, nil
}

func (p *pusher) insertOne(ctx context.Context, w *sqlstore.Write, step int64) (number int64, err error) {
	switch {
	case w.Resource.Payload != nil:
		_, err = p.tx.ExecContext(ctx, sqlstore.InsertBody, w.Body, w.Resource.Payload)
	case w.Body != nil: // the agent has uploaded it, or a row has it
		_, err = p.tx.ExecContext(ctx, takeUpload, p.agentID, w.Body)
	}
	if err != nil {
		return 0, err
	}
	result, err := p.tx.ExecContext(ctx, insertRow, w.Written(p.agentID, step, p.now)...)
	if err != nil {
		return 0, err
	}
	return result.LastInsertId()
}
