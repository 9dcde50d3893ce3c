package sqlite

import (
	"context"
	"fmt"

	"waymark/hub/store/internal/plan"
	"waymark/hub/store/internal/sqlstore"
)

// write writes a plan as a new revision, and returns the revision and the numbers of the
// written rows.
func (p *pusher) write(ctx context.Context, decided *plan.Plan) (revision int64, numbers []int64, err error) {
	err = p.tx.QueryRowContext(ctx, "UPDATE revision SET value = value + 1, floor = max(floor, $1) RETURNING value", decided.Cut).Scan(&revision)
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

const insertRow = `INSERT INTO resources (
  agent_id, id, since, kind, source, key, source_path, name, description, status, error, stale,
  content_hash, size_bytes, resolver, attributes, body, payload_bytes, digest, created_at, updated_at, facts, whole, row_bytes)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24)`

var takeUpload = fmt.Sprintf(sqlstore.TakeUploads, "body = $2")

func (p *pusher) insert(ctx context.Context, rows []plan.Write, step int64) (numbers []int64, err error) {
	numbers = make([]int64, len(rows))
	for i := range rows {
		if numbers[i], err = p.insertOne(ctx, &rows[i], step); err != nil {
			return nil, err
		}
	}
	return numbers, nil
}

func (p *pusher) insertOne(ctx context.Context, w *plan.Write, step int64) (number int64, err error) {
	r := w.Resource
	switch {
	case r.Payload != nil:
		_, err = p.tx.ExecContext(ctx, sqlstore.InsertBody, w.Body, r.Payload)
	case w.Body != nil: // the agent has uploaded it, or a row has it
		_, err = p.tx.ExecContext(ctx, takeUpload, p.agentID, w.Body)
	}
	if err != nil {
		return 0, err
	}
	result, err := p.tx.ExecContext(ctx, insertRow,
		p.agentID, w.ID, step, string(r.Kind), r.Source, r.Key, r.SourcePath, r.Name, r.Description, string(r.Status), r.Error, r.Stale,
		sqlstore.NotNull(r.ContentHash), r.SizeBytes, r.Resolver, w.Attributes, w.Body, w.Size, w.Digest[:], w.CreatedAt, p.now, w.Facts, w.StoredWhole(), w.Rest)
	if err != nil {
		return 0, err
	}
	return result.LastInsertId()
}
