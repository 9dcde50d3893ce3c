package postgres

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"waymark/hub/store/internal/sqlstore"
)

const (
	confirmHeads = `UPDATE snapshots s SET version = u.version, generation = u.generation, received_at = u.received_at, name = u.name
		FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bytea[], $5::bigint[]) AS u (version, generation, received_at, name, revision)
		WHERE s.revision = u.revision`

	pushHeads = "UPDATE heads h SET " + sqlstore.HeadFields + ` FROM unnest($1::text[]) AS u (agent)
		CROSS JOIN LATERAL (SELECT * FROM snapshots WHERE agent_id = u.agent ORDER BY revision DESC LIMIT 1) AS s WHERE h.agent_id = u.agent`
	setWriters = `UPDATE heads h SET writer = u.writer, writer_run = u.run, writer_hub = u.hub
		FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[]) AS u (agent, writer, run, hub) WHERE h.agent_id = u.agent`

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
	deletePasts  = "DELETE FROM snapshots s USING unnest($1::text[], $2::bigint[]) AS u (agent, cut) WHERE s.agent_id = u.agent AND s.revision <= u.cut"
	deleteRows   = "DELETE FROM resources r USING unnest($1::text[], $2::bigint[]) AS u (agent, oldest) WHERE r.agent_id = u.agent AND r.until <= u.oldest"
	insertBodies = "INSERT INTO bodies (hash, payload) SELECT * FROM unnest($1::bytea[], $2::bytea[]) ON CONFLICT (hash) DO NOTHING"
	endRows      = "UPDATE resources r SET until = u.step FROM unnest($1::bigint[], $2::bigint[]) AS u (number, step) WHERE r.number = u.number"
	setFacts     = `UPDATE resources r SET facts = u.facts, whole = u.whole
		FROM unnest($1::bigint[], $2::text[], $3::bytea[]) AS u (number, facts, whole) WHERE r.number = u.number`
	insertRevisions = `INSERT INTO snapshots (revision, agent_id, step, generation, version, aggregate_hash, snapshot_error, plugins,
		  discovery, summary, failing, resources, added, changed, removed, touched, payload_bytes, row_bytes, name, written_bytes, created_at, received_at)
		SELECT nextval('revision'), u.*, u.at FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bytea[], $6::text[], $7::text[],
		  $8::text[], $9::text[], $10::integer[], $11::integer[], $12::integer[], $13::integer[], $14::integer[], $15::text[], $16::bigint[], $17::bigint[],
		  $18::bytea[], $19::bigint[], $20::bigint[]) AS u (agent, step, generation, version, hash, error, plugins, discovery, summary, failing, resources,
		  added, changed, removed, touched, payload, rows, name, written, at)
		RETURNING agent_id, revision`
	pushEvents = sqlstore.PushEvents + "(SELECT (SELECT max(revision) FROM snapshots WHERE agent_id = a.id) FROM unnest($1::text[]) AS a (id)) ORDER BY revision"
)

var takeUploads = fmt.Sprintf(sqlstore.TakeUploads, "body = ANY($2)")

// changes makes the statements of all plans.
func (g *group) changes(ctx context.Context) (*pgx.Batch, error) {
	bodies, unused, err := g.bodies(ctx)
	if err != nil {
		return nil, err
	}
	batch := &pgx.Batch{}
	if first := columns(slices.Concat(g.write, g.same), func(p *pusher, add adder) {
		if p.state.Head == nil || p.state.Head.Generation != p.generation {
			add(p.agentID, p.generation, p.push.Push.Run, p.push.Push.Hub)
		}
	}); first != nil {
		batch.Queue(setWriters, first...)
	}
	if len(g.same) > 0 {
		batch.Queue(confirmHeads, columns(g.same, func(p *pusher, add adder) {
			add(p.version(), p.generation, p.now, p.push.Name(), p.state.Head.Revision)
		})...)
	}
	if len(g.write) == 0 {
		return batch, nil
	}
	var cut []*pusher
	for _, p := range g.write {
		if p.plan.Cut > 0 {
			cut = append(cut, p)
		}
		if taken := bodies.uploaded[p]; len(taken) > 0 {
			batch.Queue(takeUploads, p.agentID, taken)
		}
		if len(p.state.Bodies) > 0 {
			batch.Queue(sqlstore.DropUploads, p.agentID)
		}
	}
	if len(cut) > 0 {
		batch.Queue(deletePasts, columns(cut, func(p *pusher, add adder) { add(p.agentID, p.plan.Cut) })...)
	}
	bodies.insert(batch)
	g.rows(batch)
	if len(cut) > 0 {
		batch.Queue(deleteRows, columns(cut, func(p *pusher, add adder) { add(p.agentID, p.plan.Oldest) })...)
		batch.Queue(deleteBodies, unused)
	}
	g.revisions(batch)
	return batch, nil
}

// rows writes the resources.
func (g *group) rows(batch *pgx.Batch) {
	end := columns(g.write, func(p *pusher, add adder) {
		for _, number := range p.plan.Close {
			add(number, p.plan.Step)
		}
	})
	facts := columns(g.write, func(p *pusher, add adder) {
		for _, f := range p.plan.Facts {
			add(f.Row, f.JSON, f.Whole)
		}
	})
	rows := columns(g.write, func(p *pusher, add adder) {
		for i := range p.plan.Write {
			add(p.plan.Write[i].Written(p.agentID, p.plan.Step, p.now)...)
		}
	})
	for _, s := range []struct {
		query string
		args  []any
	}{{endRows, end}, {setFacts, facts}, {insertRows(rows), rows}} {
		if s.args != nil {
			batch.Queue(s.query, s.args...)
		}
	}
}

var listTypes = strings.NewReplacer("[][]uint8", "bytea[]", "[]string", "text[]", "[]int64", "bigint[]", "[]bool", "boolean[]")

// insertRows is the statement for columns of rows.
func insertRows(rows []any) string {
	lists := make([]string, len(rows))
	for i, list := range rows {
		lists[i] = listTypes.Replace(fmt.Sprintf("$%d::%T", i+1, list))
	}
	return "INSERT INTO resources (" + sqlstore.WrittenColumns + ") SELECT * FROM unnest(" + strings.Join(lists, ", ") + ")"
}

// revisions writes the snapshots, and what follows from them.
func (g *group) revisions(batch *pgx.Batch) {
	g.queue(batch, insertRevisions, columns(g.write, func(p *pusher, add adder) {
		d, head := p.plan, &p.plan.Head
		add(p.agentID, d.Step, p.generation, p.version(), []byte(head.Hash), head.SnapshotError, head.Plugins,
			head.Discovery, head.Summary, int64(head.Failing), int64(d.Resources), int64(d.Added), int64(d.Changed), int64(d.Removed), d.TouchedJSON,
			d.PayloadBytes, d.RowBytes, p.push.Name(), d.Bytes, p.now)
	}), func(scan scanner) (func(*pusher), error) {
		var revision int64
		err := scan(&revision)
		return func(p *pusher) { p.result.Revision = revision }, err
	})
	ids := make([]string, len(g.write))
	for i, p := range g.write {
		ids[i] = p.agentID
		if !p.pinned { // nobody can pin while this push has the agent's lock
			continue
		}
		for _, s := range sqlstore.PinStatements(p.agentID, p.version(), p.plan, p.state.Head == nil, p.now) {
			batch.Queue(s.SQL, s.Args...)
		}
	}
	batch.Queue(pushEvents, ids)
}

// adder adds a row of values.
type adder = func(values ...any)

// columns makes the arguments of a statement with unnest of the rows that all pushers add: a
// list for each column. Without rows it is nil.
func columns(list []*pusher, each func(*pusher, adder)) []any {
	var rows [][]any
	for _, p := range list {
		each(p, func(values ...any) { rows = append(rows, values) })
	}
	if len(rows) == 0 {
		return nil
	}
	args := make([]any, len(rows[0]))
	for i, first := range rows[0] {
		switch first.(type) {
		case int64:
			args[i] = column[int64](rows, i)
		case string:
			args[i] = column[string](rows, i)
		case bool:
			args[i] = column[bool](rows, i)
		default:
			args[i] = column[[]byte](rows, i)
		}
	}
	return args
}

func column[T any](rows [][]any, i int) []T {
	list := make([]T, len(rows))
	for n, row := range rows {
		list[n] = row[i].(T) //nolint:forcetypeassert // of one type in all rows
	}
	return list
}

// newBodies are the payloads that aren't stored yet, ordered by name. Those of uploaded are
// what the agents brought before.
type newBodies struct {
	hashes, payloads [][]byte
	uploaded         map[*pusher][][]byte
}

// insert adds the statements. A long list would be copied several times.
func (b *newBodies) insert(batch *pgx.Batch) {
	size := 0
	for _, payload := range b.payloads {
		size += len(payload)
	}
	switch {
	case len(b.hashes) == 0:
	case size <= maxGroupBytes:
		batch.Queue(insertBodies, b.hashes, b.payloads)
	default:
		for i, hash := range b.hashes {
			batch.Queue(sqlstore.InsertBody, hash, b.payloads[i])
		}
	}
}

// bodies determines which payloads must be written, and which may be unused after these
// pushes.
func (g *group) bodies(ctx context.Context) (missing newBodies, unused [][]byte, err error) {
	payloads := make(map[string][]byte)
	uploaded := make(map[string]*pusher) // who may have brought one
	batch := &pgx.Batch{}
	for _, p := range g.write {
		for _, w := range p.plan.Write {
			if w.Body == nil || payloads[string(w.Body)] != nil {
				continue
			}
			payloads[string(w.Body)] = w.Resource.Payload // nil: it was uploaded, or a row has it
			if w.Resource.Payload == nil {
				uploaded[string(w.Body)] = p
			}
		}
		if p.plan.Cut > 0 {
			batch.Queue(selectUnseen, p.agentID, p.plan.Oldest, p.endingUnseen()).Query(func(rows pgx.Rows) error {
				list, err := pgx.CollectRows(rows, pgx.RowTo[[]byte])
				unused = append(unused, list...)
				return err
			})
		}
	}
	hashes := make([][]byte, 0, len(payloads))
	for hash := range payloads {
		hashes = append(hashes, []byte(hash))
	}
	slices.SortFunc(hashes, bytes.Compare)
	if len(hashes) > 0 {
		batch.Queue(selectBodies, hashes).Query(func(rows pgx.Rows) error {
			var hash []byte
			_, err := pgx.ForEachRow(rows, []any{&hash}, func() error {
				delete(payloads, string(hash))
				return nil
			})
			return err
		})
	}
	if batch.Len() == 0 {
		return missing, nil, nil
	}
	if err := g.conn.SendBatch(ctx, batch).Close(); err != nil {
		return missing, nil, err
	}
	missing.uploaded = make(map[*pusher][][]byte)
	for _, hash := range hashes {
		switch payload, ok := payloads[string(hash)]; {
		case ok && payload == nil:
			p := uploaded[string(hash)]
			missing.uploaded[p] = append(missing.uploaded[p], hash)
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
