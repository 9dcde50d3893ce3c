package push

import (
	"cmp"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"waymark/snapshot"
	"waymark/wire"
	"waymark/wire/convert"
)

const (
	// maxContent leaves room in a message for version and initial, and for
	// what the framing adds.
	maxContent = wire.MaxMessage - slack
	// maxParts is more than the messages that a manifest comes in.
	maxParts = 16
)

// What the resource itself says when its payload had to stay behind.
const (
	errTooLarge = "too large to be sent"
	errNoRoom   = "left out: all resources together are too large to be sent"
)

// fitBodies takes payloads away where they are more than a peer accepts, for
// one resource or in all. Those that come last lose, and when even their names are
// too much, they aren't sent.
func fitBodies(rows []*row, peer takes, rep *report) []*row {
	total, limit := 0, wire.MaxBodies
	counted := convert.BodyJSON
	if peer.byHash { // which counts payloads
		limit, counted = peer.bytes, func(r *snapshot.Resource) int { return len(r.Payload) }
	}
	for i, w := range rows {
		if peer.payload == 0 && convert.BodyJSON(&w.r) > wire.MaxBodyJSON {
			w = cmp.Or(trimTools(w), w.withoutPayload(snapshot.StatusOversize, errTooLarge))
			rows[i] = w
		}
		total += counted(&w.r)
	}
	if total <= limit {
		return rows
	}
	total = 0
	gone := make([]bool, len(rows))
	for _, i := range byPrecedence(rows) {
		size := counted(&rows[i].r)
		if total+size > limit && len(rows[i].r.Payload) > 0 {
			rows[i] = rows[i].withoutPayload(snapshot.StatusExcluded, errNoRoom)
			size = counted(&rows[i].r)
		}
		if gone[i] = total+size > limit; !gone[i] {
			total += size
		}
	}
	return without(rows, gone, rep)
}

// byPrecedence returns the indices of rows, the one that comes first first.
func byPrecedence(rows []*row) []int {
	order := make([]int, len(rows))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rows[a].r.Order, rows[b].r.Order) })
	return order
}

// without takes out those rows that are gone, since the peer doesn't take as much.
func without(rows []*row, gone []bool, rep *report) []*row {
	kept := rows[:0]
	for i := range rows {
		if gone[i] {
			rep.held.add(ReasonTooLarge)
			continue
		}
		kept = append(kept, rows[i])
	}
	return kept
}

// trimTools returns an mcp_server with so many fewer tools that its body isn't too long,
// which no length of its payload says. It is nil where that can't be done.
func trimTools(w *row) *row {
	r := w.r
	for limit := int64(len(r.Payload)) / 2; r.TrimTools(limit); limit /= 2 {
		if convert.BodyJSON(&r) <= wire.MaxBodyJSON {
			return &row{r: r, id: w.id, rough: roughSize(&r), changed: true}
		}
	}
	return nil
}

// withoutPayload returns a row in the place of w, which says why it has no payload.
func (w *row) withoutPayload(status snapshot.Status, why string) *row {
	r := w.r
	r.Payload, r.Status, r.Error = nil, status, why
	return &row{r: r, id: w.id, rough: roughSize(&r), changed: true}
}

// fitMessage takes payloads, and where that isn't enough resources, of what comes last
// until the whole push, of which head is the length without resources, fits
// into its message, or a manifest into its bound.
func fitMessage(head int, rows []*row, f form, limit int, rep *report) ([]*row, error) {
	if sureToFit(head, rows, f, limit) {
		return rows, nil
	}
	total := head
	sizes := make([]int, len(rows))
	for i := range rows {
		size, err := encodedSize(&rows[i].r, f)
		if err != nil {
			return nil, err
		}
		sizes[i] = size
		total += size
	}
	if total <= limit {
		return rows, nil
	}
	order := byPrecedence(rows)
	for _, i := range slices.Backward(order) {
		if len(rows[i].r.Payload) == 0 || total <= limit {
			continue
		}
		rows[i] = rows[i].withoutPayload(snapshot.StatusExcluded, errNoRoom)
		size, err := encodedSize(&rows[i].r, f)
		if err != nil {
			return nil, err
		}
		total += size - sizes[i]
		sizes[i] = size
	}
	gone := make([]bool, len(rows))
	for _, i := range slices.Backward(order) {
		if gone[i] = total > limit; gone[i] {
			total -= sizes[i]
		}
	}
	return without(rows, gone, rep), nil
}

// sureToFit reports whether there is no need to look closely, as there mostly
// isn't.
func sureToFit(head int, rows []*row, f form, limit int) bool {
	w, waymark := f.(waymarkForm)
	if !waymark {
		return false
	}
	total := head
	for _, row := range rows {
		if total += row.rough; !w.byHash && named(&row.r) {
			total += len(row.r.Payload)
		}
	}
	return total <= limit
}

// encodedSize is what r takes in a push: tag, length and message.
func encodedSize(r *snapshot.Resource, f form) (int, error) {
	m, err := f.message(r)
	if err != nil {
		return 0, err
	}
	return 1 + protowire.SizeBytes(proto.Size(m)), nil
}
