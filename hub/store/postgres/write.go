package postgres

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"waymark/hub/store/internal/sqlstore"
)

// channel is where hubs announce new revisions to each other.
const channel = "waymark_revision"

// confirm records that the push brought the stored content again.
func (p *pusher) confirm(ctx context.Context) error {
	batch := &pgx.Batch{}
	batch.Queue(sqlstore.UpdateHead, p.version(), p.generation, p.now, p.push.Name(), p.state.Head.Revision)
	return p.commit(ctx, batch)
}

// commit runs the batch and ends the transaction. An unknown result is remembered for the
// next try.
func (p *pusher) commit(ctx context.Context, batch *pgx.Batch) error {
	batch.Queue("commit")
	err := p.conn.SendBatch(ctx, batch).Close()
	if err != nil && (code(err) == "" || p.conn.IsClosed()) {
		result := p.result
		p.unsure = &result
	}
	return err
}

const (
	// Locks the existing payloads, so that they stay.
	selectBodies = "SELECT hash FROM bodies WHERE hash = ANY($1) ORDER BY hash FOR KEY SHARE"
	// The payloads of the rows to be deleted.
	selectUnseen = "SELECT DISTINCT body FROM resources WHERE agent_id = $1 AND (until <= $2 OR number = ANY($3)) AND body IS NOT NULL"

	// A payload locked by another push is in use, or will be. Waiting for it could
	// deadlock.
	deleteBodies = `DELETE FROM bodies WHERE hash IN (
		SELECT hash FROM bodies b WHERE hash = ANY($1) AND NOT EXISTS (SELECT 1 FROM resources r WHERE r.body = b.hash)
		AND NOT EXISTS (SELECT 1 FROM pin_resources p WHERE p.body = b.hash)
		FOR UPDATE SKIP LOCKED)`
	endRows    = "UPDATE resources SET until = $1 WHERE number = ANY($2)"
	insertRows = `INSERT INTO resources (agent_id, since, created_at, updated_at,
		  id, kind, source, key, source_path, name, description, status, error, stale,
		  content_hash, size_bytes, resolver, attributes, facts, body, payload_bytes, digest, whole, row_bytes)
		SELECT $1, $2, u.created_at, $3,
		  u.id, u.kind, u.source, u.key, u.source_path, u.name, u.description, u.status, u.error, u.stale,
		  u.content_hash, u.size_bytes, u.resolver, u.attributes, u.facts, u.body, u.payload_bytes, u.digest, u.whole, u.row_bytes
		FROM unnest($4::bigint[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[],
		  $12::text[], $13::text[], $14::boolean[], $15::bytea[], $16::bigint[], $17::text[], $18::text[], $19::text[],
		  $20::bytea[], $21::bigint[], $22::bytea[], $23::bytea[], $24::bigint[])
		AS u (created_at, id, kind, source, key, source_path, name, description, status, error, stale,
		  content_hash, size_bytes, resolver, attributes, facts, body, payload_bytes, digest, whole, row_bytes)`
	setFacts = `UPDATE resources r SET facts = u.facts, whole = u.whole
		FROM unnest($1::bigint[], $2::text[], $3::bytea[]) AS u (number, facts, whole) WHERE r.number = u.number`
	// The revision comes last: while a push holds it, no other gets one.
	insertRevision = `WITH r AS (UPDATE revision SET value = value + 1, floor = greatest(floor, $12) RETURNING value)
		INSERT INTO snapshots (revision, agent_id, step, generation, version, aggregate_hash, snapshot_error, plugins,
		  resources, payload_bytes, written_bytes, created_at, received_at, added, changed, removed, touched, discovery, summary, failing,
		  row_bytes, name)
		SELECT value, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $11, $13, $14, $15, $16, $17, $18, $19, $20, $21 FROM r RETURNING revision`
	notify = "SELECT pg_notify('" + channel + "', '')"
)

// write writes a plan as a new revision.
func (p *pusher) write(ctx context.Context) error {
	bodies, unused, err := p.bodies(ctx)
	if err != nil {
		return err
	}
	batch := &pgx.Batch{}
	if p.plan.Cut > 0 {
		batch.Queue(sqlstore.DeletePast, p.agentID, p.plan.Cut)
	}
	if len(bodies.uploaded) > 0 {
		batch.Queue(takeUploads, p.agentID, bodies.uploaded)
	}
	if len(p.state.Bodies) > 0 {
		batch.Queue(sqlstore.DropUploads, p.agentID)
	}
	for i, hash := range bodies.hashes { // a single list would be copied several times
		batch.Queue(sqlstore.InsertBody, hash, bodies.payloads[i])
	}
	if len(p.plan.Close) > 0 {
		batch.Queue(endRows, p.plan.Step, p.plan.Close)
	}
	if len(p.plan.Facts) > 0 {
		batch.Queue(setFacts, p.facts()...)
	}
	if len(p.plan.Write) > 0 {
		batch.Queue(insertRows, p.columns()...)
	}
	if p.plan.Cut > 0 {
		batch.Queue(sqlstore.DeleteRows, p.agentID, p.plan.Oldest)
		batch.Queue(deleteBodies, unused)
	}
	head := &p.plan.Head
	batch.Queue(insertRevision, p.agentID, p.plan.Step, p.generation, p.version(), []byte(head.Hash), head.SnapshotError, head.Plugins,
		p.plan.Resources, p.plan.PayloadBytes, p.plan.Bytes, p.now,
		p.plan.Cut, p.plan.Added, p.plan.Changed, p.plan.Removed, p.plan.TouchedJSON, head.Discovery, head.Summary, head.Failing, p.plan.RowBytes, p.push.Name()).
		QueryRow(func(row pgx.Row) error { return row.Scan(&p.result.Revision) })
	for _, s := range sqlstore.PinStatements(p.agentID, p.version(), p.plan, p.state.Head == nil, p.now) {
		batch.Queue(s.SQL, s.Args...)
	}
	batch.Queue(notify)
	p.result = p.plan.Result(0)
	return p.commit(ctx, batch)
}

// columns are the rows to be written, a list for each column.
func (p *pusher) columns() []any {
	n := len(p.plan.Write)
	var (
		created, size, payload, rest             = make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n)
		stale                                    = make([]bool, n)
		contentHash, body                        = make([][]byte, n), make([][]byte, n)
		digest, whole                            = make([][]byte, n), make([][]byte, n)
		id, kind, source, key, path, name        = text(n), text(n), text(n), text(n), text(n), text(n)
		description, status, failure, res, attrs = text(n), text(n), text(n), text(n), text(n)
		facts                                    = text(n)
	)
	for i := range p.plan.Write {
		w := &p.plan.Write[i]
		r := w.Resource
		created[i], size[i], payload[i], stale[i] = w.CreatedAt, r.SizeBytes, w.Size, r.Stale
		contentHash[i], body[i], digest[i], whole[i] = sqlstore.NotNull(r.ContentHash), w.Body, w.Digest[:], w.StoredWhole()
		facts[i], rest[i] = w.Facts, w.Rest
		id[i], kind[i], source[i], key[i], path[i], name[i] = w.ID, string(r.Kind), r.Source, r.Key, r.SourcePath, r.Name
		description[i], status[i], failure[i], res[i], attrs[i] = r.Description, string(r.Status), r.Error, r.Resolver, w.Attributes
	}
	return []any{
		p.agentID, p.plan.Step, p.now,
		created, id, kind, source, key, path, name, description, status, failure, stale,
		contentHash, size, res, attrs, facts, body, payload, digest, whole, rest,
	}
}

// facts are the rows of which only the facts change, a list for each column.
func (p *pusher) facts() []any {
	n := len(p.plan.Facts)
	numbers, facts, whole := make([]int64, n), text(n), make([][]byte, n)
	for i, f := range p.plan.Facts {
		numbers[i], facts[i], whole[i] = f.Row, f.JSON, f.Whole
	}
	return []any{numbers, facts, whole}
}

func text(n int) []string { return make([]string, n) }

// newBodies are the payloads that aren't stored yet, ordered by name. Those of uploaded are
// what the agent brought before.
type newBodies struct{ hashes, payloads, uploaded [][]byte }

var takeUploads = fmt.Sprintf(sqlstore.TakeUploads, "body = ANY($2)")

// bodies determines which payloads must be written, and which may be unused after this
// push.
func (p *pusher) bodies(ctx context.Context) (missing newBodies, unused [][]byte, err error) {
	payloads := make(map[string][]byte)
	for _, w := range p.plan.Write {
		if w.Body != nil && payloads[string(w.Body)] == nil { // one that isn't in the push was uploaded, or a row has it
			payloads[string(w.Body)] = w.Resource.Payload
		}
	}
	if len(payloads) == 0 && p.plan.Cut == 0 {
		return missing, nil, nil
	}
	hashes := make([][]byte, 0, len(payloads))
	for hash := range payloads {
		hashes = append(hashes, []byte(hash))
	}
	slices.SortFunc(hashes, bytes.Compare)
	batch := &pgx.Batch{}
	batch.Queue(selectBodies, hashes).Query(func(rows pgx.Rows) error {
		var hash []byte
		_, err := pgx.ForEachRow(rows, []any{&hash}, func() error {
			delete(payloads, string(hash))
			return nil
		})
		return err
	})
	if p.plan.Cut > 0 {
		batch.Queue(selectUnseen, p.agentID, p.plan.Oldest, p.endingUnseen()).Query(func(rows pgx.Rows) (err error) {
			unused, err = pgx.CollectRows(rows, pgx.RowTo[[]byte])
			return err
		})
	}
	if err := p.conn.SendBatch(ctx, batch).Close(); err != nil {
		return missing, nil, err
	}
	for _, hash := range hashes {
		switch payload, ok := payloads[string(hash)]; {
		case ok && payload == nil:
			missing.uploaded = append(missing.uploaded, hash)
		case ok:
			missing.hashes = append(missing.hashes, hash)
			missing.payloads = append(missing.payloads, payload)
		}
	}
	return missing, unused, nil
}

// endingUnseen are the rows that this push ends and that no revision has afterwards: all
// that it ends if it leaves no other revision, otherwise none.
func (p *pusher) endingUnseen() []int64 {
	if p.plan.Oldest == p.plan.Step {
		return p.plan.Close
	}
	return nil
}
