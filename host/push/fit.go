package push

import (
	"cmp"
	"slices"

	"waymark/snapshot"
	"waymark/wire"
	"waymark/wire/convert"
)

// The errors of resources whose payload had to be left out.
const (
	errTooLarge = "too large to be sent"
	errNoRoom   = "left out: all resources together are too large to be sent"
)

// fitBodies removes payloads that exceed what a peer accepts, for one resource or in total. It
// removes the last ones first. A resource that is too much even without its payload isn't
// sent.
func fitBodies(rows []*row, f form, rep *report) []*row {
	total, limit, most := 0, wire.MaxHubBytes, wire.MaxPayload
	counted := func(r *snapshot.Resource) int { return len(r.Payload) }
	if f == (coderForm{}) { // whose server counts their JSON
		limit, most, counted = wire.MaxBodies, wire.MaxBodyJSON, convert.BodyJSON
	}
	for i, w := range rows {
		if counted(&w.r) > most {
			rows[i] = cmp.Or(trimTools(w, most, counted), w.withoutPayload(snapshot.StatusOversize, errTooLarge))
		}
		total += counted(&rows[i].r)
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

// byPrecedence returns the indices of rows, highest precedence first.
func byPrecedence(rows []*row) []int {
	order := make([]int, len(rows))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rows[a].r.Order, rows[b].r.Order) })
	return order
}

// without removes rows that exceed what the peer takes.
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

// trimTools returns an mcp_server with fewer tools so that its body isn't too long; the
// length of its payload doesn't show that. It returns nil if that can't be done.
func trimTools(w *row, most int, counted func(*snapshot.Resource) int) *row {
	r := w.r
	for limit := int64(len(r.Payload)) / 2; r.TrimTools(limit); limit /= 2 {
		if counted(&r) <= most {
			return &row{r: r, id: w.id, changed: true}
		}
	}
	return nil
}

// withoutPayload returns a replacement for w that says why it has no payload.
func (w *row) withoutPayload(status snapshot.Status, why string) *row {
	r := w.r
	r.Payload, r.Status, r.Error = nil, status, why
	return &row{r: r, id: w.id, changed: true}
}

// fitMessage makes a push fit into one message; head is its length without resources. It
// removes payloads that are part of the message, and if that isn't enough resources, in both
// cases the last ones first.
func fitMessage(head int, rows []*row, f form, rep *report) ([]*row, error) {
	total, limit, sizes := 0, f.room(head), make([]int, len(rows))
	measure := func(i int) (err error) {
		total -= sizes[i]
		sizes[i], err = f.size(&rows[i].r)
		total += sizes[i]
		return err
	}
	for i := range rows {
		if err := measure(i); err != nil {
			return nil, err
		}
	}
	if total <= limit {
		return rows, nil
	}
	order := byPrecedence(rows)
	for _, i := range slices.Backward(order) {
		if f == (waymarkForm{}) || len(rows[i].r.Payload) == 0 || total <= limit {
			continue
		}
		rows[i] = rows[i].withoutPayload(snapshot.StatusExcluded, errNoRoom)
		if err := measure(i); err != nil {
			return nil, err
		}
	}
	gone := make([]bool, len(rows))
	for _, i := range slices.Backward(order) {
		if gone[i] = total > limit; gone[i] {
			total -= sizes[i]
		}
	}
	return without(rows, gone, rep), nil
}
