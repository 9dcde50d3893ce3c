package push

import (
	"bytes"
	"slices"

	"waymark/snapshot"
	"waymark/wire/convert"
	"waymark/wire/waymark"
)

// equal reports whether p and other are the same to the peer.
func (p *prepared) equal(other *prepared) bool {
	return p.sameHead(other) && slices.EqualFunc(p.rows, other.rows, func(a, b row) bool { return a.r.Equal(&b.r) })
}

func (p *prepared) sameHead(other *prepared) bool {
	return bytes.Equal(p.head.AggregateHash, other.head.AggregateHash) &&
		p.head.SnapshotError == other.head.SnapshotError &&
		slices.EqualFunc(p.head.Plugins, other.head.Plugins, snapshot.Plugin.Equal)
}

// delta encodes behind prefix what makes p of base, which the peer accepted as
// baseVersion. It returns nil when that is no better than the whole: when no row stays as
// it is, or what is removed takes more room than a message has.
func (p *prepared) delta(prefix []byte, base *prepared, baseVersion uint64) ([]byte, error) {
	before := make(map[string]*snapshot.Resource, len(base.rows))
	for i := range base.rows {
		before[base.rows[i].r.ID()] = &base.rows[i].r
	}
	changed := *p.head
	for i := range p.rows {
		r := &p.rows[i].r
		id := r.ID()
		if old, known := before[id]; !known || !old.Equal(r) {
			changed.Resources = append(changed.Resources, *r)
		}
		delete(before, id)
	}
	if len(p.rows) == 0 || len(changed.Resources) == len(p.rows) {
		return nil, nil
	}
	request := convert.ToWaymark(&changed)
	request.Delta = &waymark.Delta{BaseVersion: baseVersion}
	for i := range base.rows { // in their order, so that equal deltas are equal bytes
		if id := base.rows[i].r.ID(); before[id] != nil {
			request.Delta.Removed = append(request.Delta.Removed, id)
		}
	}
	content, err := marshal(prefix, request)
	if len(content) > maxContent { // it is full() that is sure to fit
		return nil, nil
	}
	return content, err
}
