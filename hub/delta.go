package hub

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"maps"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"waymark/hub/store"
	"waymark/wire"
	"waymark/wire/convert"
	"waymark/wire/rules"
	"waymark/wire/waymark"
)

// base is what is kept of an agent's last accepted push, for as long as its
// connection lasts: just enough to hold the next delta to the rules of the
// full push that it stands for.
type base struct {
	version uint64
	// rows are by the hash of the id. They are nil after a claim, which brings none,
	// until a delta asks for them.
	rows  map[uint64]rowSize
	total rowSize
}

// rowSize is what a resource adds to the two sums that have limits: its payload, and
// the rest of it as it is encoded.
type rowSize struct{ payload, encoded int }

// baseRow is a row of a base.
type baseRow struct {
	key uint64
	rowSize
}

func (s *rowSize) add(other rowSize) { s.payload += other.payload; s.encoded += other.encoded }
func (s *rowSize) sub(other rowSize) { s.payload -= other.payload; s.encoded -= other.encoded }

// errFullNeeded says that a delta can't be applied. It is an answer, not a
// refusal.
var errFullNeeded = errors.New("the base of the delta is not here")

// baseRows returns what a push's resources are in a base.
func (h *Hub) baseRows(resources []*waymark.Resource, p *rules.Push) []baseRow {
	rows := make([]baseRow, len(resources))
	for i, m := range resources {
		encoded := 1 + protowire.SizeBytes(proto.Size(m)) - len(m.GetPayload())
		payload := len(m.GetPayload())
		if body, named := p.Bodies[i]; named {
			payload = int(body.Size)
		}
		rows[i] = baseRow{maphash.String(h.seed, p.Snapshot.Resources[i].ID()), rowSize{payload, encoded}}
	}
	return rows
}

// complete reads what a delta is against after a claim: what is stored.
func (h *Hub) complete(ctx context.Context, agentID string, p *push, b *base) error {
	if !p.Delta || b == nil || b.rows != nil || b.version != p.BaseVersion {
		return nil
	}
	stored, err := h.store.Snapshot(ctx, store.Query{AgentID: agentID})
	switch {
	case errors.Is(err, store.ErrNotFound), err == nil && stored.Snapshot.Version != b.version:
		return errFullNeeded // another session has pushed
	case err != nil:
		return err
	}
	rows := h.baseRows(convert.ToWaymark(&stored.Snapshot).GetResources(), &rules.Push{Snapshot: &stored.Snapshot})
	whole, err := h.nextBase(nil, nil, b.version, rows, nil)
	if err != nil {
		return errFullNeeded // it was stored under wider limits
	}
	*b = *whole
	return nil
}

// nextBase returns the base after a push of the version and the rows, which
// rules.Waymark has let pass. For a delta, b is what it must be against; nil means
// that there is nothing.
func (h *Hub) nextBase(b *base, delta *waymark.Delta, version uint64, rows []baseRow, removed []string) (*base, error) {
	after := &base{version: version, rows: make(map[uint64]rowSize, len(rows))}
	if delta != nil {
		if b == nil || b.version != delta.GetBaseVersion() {
			return nil, errFullNeeded
		}
		after.rows, after.total = maps.Clone(b.rows), b.total
	}
	for _, id := range removed {
		key := maphash.String(h.seed, id)
		old, known := after.rows[key]
		if !known {
			return nil, errFullNeeded
		}
		after.total.sub(old)
		delete(after.rows, key)
	}
	for _, row := range rows {
		after.total.sub(after.rows[row.key])
		after.total.add(row.rowSize)
		after.rows[row.key] = row.rowSize
	}
	return after, after.check()
}

// check applies the limits of a whole push.
func (b *base) check() error {
	if n := len(b.rows); n > wire.MaxHubResources {
		return fmt.Errorf("%d resources after the delta, at most %d are allowed", n, wire.MaxHubResources)
	}
	if b.total.payload > wire.MaxHubBytes {
		return fmt.Errorf("payloads are longer than %d bytes together", wire.MaxHubBytes)
	}
	if b.total.encoded > wire.MaxManifest {
		return fmt.Errorf("resources are longer than the %d bytes of a manifest together", wire.MaxManifest)
	}
	return nil
}
