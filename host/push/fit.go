package push

import (
	"cmp"
	"slices"

	"waymark/snapshot"
	"waymark/wire"
	"waymark/wire/convert"
)

// What the resource itself says when its payload had to stay behind.
const (
	errTooLarge = "too large to be sent"
	errNoRoom   = "left out: all resources together are too large to be sent"
)

// fitBodies takes payloads away where they are more than a peer accepts, for
// one resource or in all. Those that come last lose, and when even their names are
// too much, they aren't sent.
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
func trimTools(w *row, most int, counted func(*snapshot.Resource) int) *row {
	r := w.r
	for limit := int64(len(r.Payload)) / 2; r.TrimTools(limit); limit /= 2 {
		if counted(&r) <= most {
			return &row{r: r, id: w.id, changed: true}
		}
	}
	return nil
}

// withoutPayload returns a row in the place of w, which says why it has no payload.
func (w *row) withoutPayload(status snapshot.Status, why string) *row {
	r := w.r
	r.Payload, r.Status, r.Error = nil, status, why
	return &row{r: r, id: w.id, changed: true}
}

// fitMessage takes payloads where they travel with their resources, and where that isn't
// enough resources, of what comes last until the whole push, of which head is the length
// without resources, fits into its message.
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
