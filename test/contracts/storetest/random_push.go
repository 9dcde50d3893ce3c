package storetest

import (
	"crypto/sha256"
	"fmt"
	"reflect"
	"strings"

	"waymark/abi"
	"waymark/hub/store"
	"waymark/snapshot"
	"waymark/wire"
)

// push makes a push that is mostly right, and sometimes wrong in one thing.
func (w *walk) push(id string) {
	p := &store.Push{Snapshot: snapshot.Snapshot{Version: 1 + w.Uint64N(3)}}
	old := w.model.newest(id)
	if old != nil {
		p.Snapshot = old.head
		p.Snapshot.Version += w.Uint64N(4) // 0 is a replay
	}
	generation := w.given[id]
	switch w.IntN(20) {
	case 0:
		generation += w.Int64N(4) - 2
	case 1:
		p.Initial, p.Snapshot.Version = true, w.Uint64N(5)
	case 2:
		p.Snapshot.SnapshotError = fmt.Sprint("trouble ", w.IntN(3))
	case 3:
		p.Snapshot.AggregateHash = []byte{byte(w.IntN(4))}
	case 5, 6:
		p.Snapshot.Discovery = snapshot.Discovery{Phase: []snapshot.Phase{snapshot.PhasePending, snapshot.PhaseComplete, ""}[w.IntN(3)]}
		for i := range w.IntN(3) {
			p.Snapshot.Discovery.Sources = append(p.Snapshot.Discovery.Sources, snapshot.SourceOutcome{
				ID: fmt.Sprint("mcp_server:/", i), Name: fmt.Sprint(i), Outcome: snapshot.Outcomes()[w.IntN(8)], Error: strings.Repeat("e", w.IntN(2)),
			})
		}
	case 4:
		p.Snapshot.Plugins = []snapshot.Plugin{{Name: fmt.Sprint(w.IntN(3))}}
	}
	if old != nil && !p.Initial && w.IntN(2) == 0 {
		w.delta(p, old)
	} else {
		w.whole(p, old)
		if !p.Initial && w.IntN(2) == 0 {
			p.Update = &store.Update{Name: NameOf(p.Snapshot), Head: true}
		}
	}
	if w.IntN(3) == 0 {
		w.withhold(p)
	}
	result, err := w.hub().Push(w.Context(), id, generation, *p)
	want, wantErr := w.model.push(id, generation, p, w.now())
	w.record("push to %s: generation %d, version %d, initial %v, update %+v, %d rows, %d named: %+v, %v",
		id, generation, p.Snapshot.Version, p.Initial, p.Update, len(p.Snapshot.Resources), len(p.Bodies), result, err)
	if !reflect.DeepEqual(result, want) || !sameError(err, wantErr) {
		w.Errorf("push: %+v, %v; want %+v, %v", result, err, want, wantErr)
	}
	w.compareSnapshot(w.hub(), id, 0)
}

// withhold names most payloads, and takes some of these out.
func (w *walk) withhold(p *store.Push) {
	var indices []int
	for i := range p.Snapshot.Resources {
		if p.Snapshot.Resources[i].Payload != nil && w.IntN(6) > 0 {
			indices = append(indices, i)
		}
	}
	before := p.Snapshot.Resources
	*p = withhold(*p, indices...)
	for i := range p.Snapshot.Resources {
		if w.IntN(6) == 0 {
			p.Snapshot.Resources[i].Payload = before[i].Payload
		}
	}
}

func sameError(got, want error) bool {
	return (got == nil) == (want == nil) && (want == nil || strings.HasSuffix(got.Error(), want.Error()))
}

// whole pushes everything: what is there with a few changes, or the same.
func (w *walk) whole(p *store.Push, old *modelRevision) {
	rows := map[string]snapshot.Resource{}
	if old != nil {
		for id, r := range old.rows {
			if w.IntN(8) > 0 {
				rows[id] = r
			}
		}
		if w.IntN(4) == 0 {
			rows = old.rows
		}
	}
	list := []snapshot.Resource{}
	for _, r := range rows {
		list = append(list, r)
	}
	for range w.IntN(4) {
		r := w.resource()
		if find(list, r.ID()) == nil {
			list = append(list, r)
		}
	}
	w.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	p.Snapshot.Resources = list
}

// delta pushes some changes, on a base that is sometimes wrong.
func (w *walk) delta(p *store.Push, old *modelRevision) {
	p.Update = &store.Update{Base: old.name, Name: sha256.Sum256([]byte(fmt.Sprint(w.Uint64())))}
	if w.IntN(10) == 0 || old.name == (wire.Name{}) { // which would be everything
		p.Update.Base = wire.Name{1}
	}
	if p.Update.Head = w.IntN(3) == 0; !p.Update.Head {
		p.Snapshot = snapshot.Snapshot{Version: p.Snapshot.Version}
	}
	for range w.IntN(3) {
		r := w.resource()
		if find(p.Snapshot.Resources, r.ID()) == nil {
			p.Snapshot.Resources = append(p.Snapshot.Resources, r)
		}
	}
	for id := range old.rows {
		if w.IntN(8) == 0 && find(p.Snapshot.Resources, id) == nil {
			p.Update.Removed = append(p.Update.Removed, id)
		}
	}
	if w.IntN(12) == 0 {
		p.Update.Removed = append(p.Update.Removed, "skill:/nowhere")
	}
}

// resource makes one of few resources with one of few contents, so that they
// come, change, go, and come back as they were.
func (w *walk) resource() snapshot.Resource {
	name := string(rune('a' + w.IntN(10)))
	if w.IntN(5) == 0 {
		return bare(abi.KindHook, "/"+name)
	}
	if w.IntN(6) == 0 {
		return server(name, strings.Repeat("s", w.IntN(3)))
	}
	r := skill(name, strings.Repeat("x", w.IntN(4)))
	r.Stale = w.IntN(6) == 0
	switch w.IntN(4) {
	case 0:
		r.ClearFacts()
	case 1:
		r.Readers = []string{"codex"}
	case 2:
		r.Findings[0].Message = "another"
	}
	return r
}
