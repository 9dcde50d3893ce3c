package hub

import (
	"errors"
	"fmt"
	"hash/maphash"
	"maps"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"waymark/snapshot"
	"waymark/wire"
	"waymark/wire/convert"
	"waymark/wire/waymark"
)

// base is what is kept of an agent's last accepted push, for as long as its
// connection lasts: just enough to hold the next delta to the rules of the
// full push that it stands for.
type base struct {
	version uint64
	rows    map[uint64]rowSize // by the hash of the id
	total   rowSize
}

// rowSize is what a resource adds to the two sums that have limits.
type rowSize struct{ body, encoded int }

func (s *rowSize) add(other rowSize) { s.body += other.body; s.encoded += other.encoded }
func (s *rowSize) sub(other rowSize) { s.body -= other.body; s.encoded -= other.encoded }

// errFullNeeded says that a delta can't be applied. It is an answer, not a
// refusal.
var errFullNeeded = errors.New("the base of the delta is not here")

// nextBase returns the base after the push, which rules.Waymark has let pass. For a
// delta, b is what it must be against; nil means that there is nothing.
func (h *Hub) nextBase(b *base, request *waymark.PushRequest, snap *snapshot.Snapshot, removed []string) (*base, error) {
	after := &base{rows: make(map[uint64]rowSize, len(snap.Resources))}
	if delta := request.GetDelta(); delta != nil {
		if b == nil || b.version != delta.GetBaseVersion() {
			return nil, errFullNeeded
		}
		after.rows, after.total = maps.Clone(b.rows), b.total
	}
	after.version = snap.Version
	for _, id := range removed {
		key := maphash.String(h.seed, id)
		old, known := after.rows[key]
		if !known {
			return nil, errFullNeeded
		}
		after.total.sub(old)
		delete(after.rows, key)
	}
	for i := range snap.Resources {
		key := maphash.String(h.seed, snap.Resources[i].ID())
		encoded := 1 + protowire.SizeBytes(proto.Size(request.GetResources()[i]))
		size := rowSize{body: convert.BodyJSON(&snap.Resources[i]), encoded: encoded}
		after.total.sub(after.rows[key])
		after.total.add(size)
		after.rows[key] = size
	}
	return after, after.check()
}

// check applies the limits of a whole push.
func (b *base) check() error {
	if n := len(b.rows); n > wire.MaxResources {
		return fmt.Errorf("%d resources after the delta, at most %d are allowed", n, wire.MaxResources)
	}
	if b.total.body > wire.MaxBodies {
		return fmt.Errorf("bodies are longer than %d bytes together", wire.MaxBodies)
	}
	if b.total.encoded > wire.MaxMessage {
		return fmt.Errorf("resources are longer than the %d bytes of a message together", wire.MaxMessage)
	}
	return nil
}
