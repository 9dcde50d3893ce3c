package sqlite

import (
	"context"
	"database/sql"

	"waymark/hub/store/internal/plan"
	"waymark/hub/store/internal/sqlstore"
)

// write makes a new revision of what was decided, and returns it.
func (p *pusher) write(ctx context.Context, decided *plan.Plan) (revision int64, err error) {
	err = p.tx.QueryRowContext(ctx, "UPDATE revision SET value = value + 1, floor = max(floor, $1) RETURNING value", decided.Cut).Scan(&revision)
	if err != nil {
		return 0, err
	}
	s := &p.push.Push.Snapshot
	_, err = p.tx.ExecContext(ctx,
		`INSERT INTO snapshots (revision, agent_id, step, generation, version, aggregate_hash, snapshot_error, plugins,
		   resources, payload_bytes, written_bytes, created_at, received_at, added, changed, removed, touched)
		 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $12, $13, $14, $15, $16)`,
		revision, p.agentID, decided.Step, p.generation, p.version(), sqlstore.NotNull(s.AggregateHash), s.SnapshotError, p.push.Plugins,
		decided.Resources, decided.PayloadBytes, decided.Bytes, p.now,
		decided.Added, decided.Changed, decided.Removed, decided.TouchedJSON)
	if err != nil {
		return 0, err
	}
	if err := p.end(ctx, decided.Close, decided.Step); err != nil {
		return 0, err
	}
	return revision, p.insert(ctx, decided.Write, decided.Step)
}

// end makes the rows hold until the step.
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
  content_hash, size_bytes, resolver, attributes, body, payload_bytes, digest, created_at, updated_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21)`

func (p *pusher) insert(ctx context.Context, rows []plan.Write, step int64) error {
	if len(rows) == 0 {
		return nil
	}
	body, err := p.tx.PrepareContext(ctx, sqlstore.InsertBody)
	if err != nil {
		return err
	}
	defer body.Close()
	row, err := p.tx.PrepareContext(ctx, insertRow)
	if err != nil {
		return err
	}
	defer row.Close()
	for i := range rows {
		if err := p.insertOne(ctx, body, row, &rows[i], step); err != nil {
			return err
		}
	}
	return nil
}

func (p *pusher) insertOne(ctx context.Context, body, row *sql.Stmt, w *plan.Write, step int64) error {
	r := w.Resource
	if w.Body != nil {
		if _, err := body.ExecContext(ctx, w.Body, r.Payload); err != nil {
			return err
		}
	}
	_, err := row.ExecContext(ctx,
		p.agentID, w.ID, step, string(r.Kind), r.Source, r.Key, r.SourcePath, r.Name, r.Description, string(r.Status), r.Error, r.Stale,
		sqlstore.NotNull(r.ContentHash), r.SizeBytes, r.Resolver, w.Attributes, w.Body, len(r.Payload), w.Digest[:], w.CreatedAt, p.now)
	return err
}
