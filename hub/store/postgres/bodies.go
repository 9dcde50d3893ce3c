package postgres

import (
	"bytes"
	"context"
	"slices"

	"github.com/jackc/pgx/v5"
)

// newBodies are the payloads that aren't stored yet, in order of their names.
type newBodies struct{ hashes, payloads [][]byte }

// bodies finds out which payloads have to be written, and which may be unused
// after this push.
func (p *pusher) bodies(ctx context.Context) (missing newBodies, unused [][]byte, err error) {
	payloads := make(map[string][]byte)
	for _, w := range p.plan.Write {
		if w.Body != nil {
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
		if payload, ok := payloads[string(hash)]; ok {
			missing.hashes = append(missing.hashes, hash)
			missing.payloads = append(missing.payloads, payload)
		}
	}
	return missing, unused, nil
}

// endingUnseen are the rows that this push ends and that no revision has any
// more then: all that it ends when it leaves no other revision, otherwise none.
func (p *pusher) endingUnseen() []int64 {
	if p.plan.Oldest == p.plan.Step {
		return p.plan.Close
	}
	return nil
}
