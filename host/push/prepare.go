package push

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"slices"

	"google.golang.org/protobuf/proto"

	"waymark/abi"
	"waymark/snapshot"
	"waymark/wire"
	"waymark/wire/convert"
	"waymark/wire/rules"
	"waymark/wire/waymark"
)

// report says what was changed or left out when a snapshot was prepared.
type report struct {
	held   HeldBack
	mended int
}

// row is a resource prepared for the wire; r is a copy. Once it is made, its resource is
// immutable, because a later push may share it.
type row struct {
	r       snapshot.Resource
	id      string // to the peer: no two resources of a push may share it
	changed bool

	// See named. Only Run's goroutine uses it.
	body   *convert.Body
	digest [sha256.Size]byte
}

// made is what became of a snapshot's resource: a row, or a reason not to send it.
type made struct {
	row    *row
	reason Reason
}

// prepared is a push that the peer won't refuse as a whole, without its version.
type prepared struct {
	form form
	// head is the snapshot without its resources.
	head   *snapshot.Snapshot
	rows   []*row
	report report // what had to be changed or left out

	projected snapshot.Projected
	made      []made    // one for each of its resources
	named     wire.Name // see name; zero until that is called
}

// prepare makes what can be sent of s, without resources for which hold, unless nil, returns
// a reason. It reuses unchanged parts of last, an earlier push, unless nil; that doesn't
// affect the result.
func prepare(s *snapshot.Snapshot, protocol wire.Protocol, hold func(*snapshot.Resource) Reason, last *prepared) (*prepared, error) {
	p := &prepared{form: formOf(protocol)}
	p.head = mendHead(s, p.form, &p.report)
	head, err := p.form.head(p.head)
	if err != nil {
		return nil, err
	}

	projection := p.form.projection()
	if hold != nil {
		form := projection.Hold
		projection.Hold = func(r *snapshot.Resource) string {
			why := string(hold(r))
			if why == "" && form != nil {
				why = form(r)
			}
			return why
		}
	}
	projected := projection.Of(s)
	if projected.Snapshot != s {
		p.head.AggregateHash = projected.AggregateHash
	}
	for reason, n := range projected.Held {
		p.report.held.addMany(Reason(reason), n)
	}
	p.projected = projected
	p.makeRows(last)
	rows := make([]*row, 0, len(p.made))
	for i := range p.made {
		if m := &p.made[i]; m.row == nil {
			p.report.held.add(m.reason)
		} else {
			rows = append(rows, m.row)
		}
	}
	rows = withoutDuplicates(rows, &p.report)
	rows = fitBodies(rows, p.form, &p.report)
	if p.rows, err = fitMessage(head, rows, p.form, &p.report); err != nil {
		return nil, err
	}
	for _, w := range p.rows {
		if w.changed {
			p.report.mended++
		}
	}
	return p, nil
}

// makeRows makes a row of each resource, or reuses that of last: usually only one resource
// has changed, been added or been removed.
func (p *prepared) makeRows(last *prepared) {
	if last != nil && last.form != p.form {
		last = nil
	}
	resources := p.projected.Resources
	p.made = make([]made, len(resources))
	next := 0 // index in last
	for i := range resources {
		r := &resources[i]
		changed := p.changed(r)
		if last != nil && !changed {
			if at := last.same(next, r); at >= 0 {
				p.made[i], next = last.made[at], at+1
				continue
			}
			if next < len(last.made) && sameID(&last.projected.Resources[next], r) {
				next++
			}
		}
		p.made[i] = p.rowOf(r, changed)
	}
}

// rowOf makes a row.
func (p *prepared) rowOf(r *snapshot.Resource, changed bool) made {
	w := &row{r: *r, changed: changed}
	reason := p.form.adapt(w)
	if reason == "" {
		reason = mend(w)
	}
	if reason != "" {
		return made{reason: reason}
	}
	w.id = p.form.identity(&w.r)
	return made{row: w}
}

// same returns the index of the resource of p that r equals: next or the one after it, or -1.
func (p *prepared) same(next int, r *snapshot.Resource) int {
	for at := next; at < min(next+2, len(p.made)); at++ {
		before := &p.projected.Resources[at]
		if before.Order == r.Order && before.Equal(r) && !p.changed(r) {
			return at
		}
	}
	return -1
}

// changed reports whether the projection has changed r.
func (p *prepared) changed(r *snapshot.Resource) bool {
	return len(p.projected.Changed) > 0 && p.projected.Changed[r.ID()]
}

func sameID(a, b *snapshot.Resource) bool {
	return a.Kind == b.Kind && a.Source == b.Source && a.Key == b.Key
}

// whole encodes the complete push for Coder's server; equal pushes have equal bytes.
func (p *prepared) whole(version uint64, initial bool) ([]byte, error) {
	whole := *p.head
	whole.Version = version
	whole.Resources = make(snapshot.Resources, 0, len(p.rows))
	for _, w := range p.rows {
		whole.Resources = append(whole.Resources, w.r)
	}
	m, err := convert.ToCoder(&whole)
	if err != nil {
		return nil, err
	}
	m.Initial = initial
	return marshal(m)
}

// marshal is deterministic, so that equal content yields equal bytes.
func marshal(m proto.Message) ([]byte, error) {
	return proto.MarshalOptions{Deterministic: true}.Marshal(m)
}

// withoutDuplicates keeps one of the rows that are the same to the peer: the valid one, then
// that of the kind that matters most, then the first.
func withoutDuplicates(rows []*row, rep *report) []*row {
	if ascending(rows) { // the usual case, because a snapshot is sorted
		return rows
	}
	best := make(map[string]int, len(rows))
	for i, w := range rows {
		if j, taken := best[w.id]; !taken || outranks(&w.r, &rows[j].r) {
			best[w.id] = i
		}
	}
	kept := rows[:0]
	for i, w := range rows {
		if best[w.id] != i {
			rep.held.add(ReasonDuplicateSource)
			continue
		}
		kept = append(kept, w)
	}
	return kept
}

// ascending reports whether each row's id is greater than the previous one.
func ascending(rows []*row) bool {
	for i := range rows[min(1, len(rows)):] {
		if rows[i].id >= rows[i+1].id {
			return false
		}
	}
	return true
}

func outranks(a, b *snapshot.Resource) bool {
	aOK, bOK := a.Status == snapshot.StatusOK, b.Status == snapshot.StatusOK
	if aOK != bOK {
		return aOK
	}
	return kindRank(a.Kind) < kindRank(b.Kind)
}

// kindRank orders the kinds by what a chat would miss most.
func kindRank(kind abi.Kind) int {
	switch kind {
	case abi.KindInstructionFile:
		return 0
	case abi.KindSkill:
		return 1
	case abi.KindMCPConfig:
		return 2
	case abi.KindMCPServer:
		return 3
	default:
		return 4
	}
}

// equal reports whether p and other are the same to the peer.
func (p *prepared) equal(other *prepared) bool {
	return p.sameHead(other) && slices.EqualFunc(p.rows, other.rows, (*row).equal)
}

func (w *row) equal(other *row) bool { return w == other || w.r.Equal(&other.r) }

func (p *prepared) sameHead(other *prepared) bool {
	return bytes.Equal(p.head.AggregateHash, other.head.AggregateHash) &&
		p.head.SnapshotError == other.head.SnapshotError &&
		p.head.Discovery.Equal(other.head.Discovery) &&
		slices.EqualFunc(p.head.Plugins, other.head.Plugins, snapshot.Plugin.Equal)
}

// change encodes the difference between base and p; a nil base is empty. With bring, it
// includes payloads that base lacks, as far as there is room.
func (p *prepared) change(version uint64, base *prepared, bring bool) ([]byte, error) {
	request, name := &waymark.PushRequest{Version: version}, p.name()
	if base != nil {
		baseName := base.name()
		request.Base = baseName[:]
		if name == baseName {
			return marshal(request)
		}
	}
	request.Name = name[:]
	if base == nil || !p.sameHead(base) {
		request.Head = convert.HeadToWaymark(p.head)
	}
	past, rows := []*row(nil), p.rows
	if base != nil {
		past, rows = withoutCommon(base.rows, p.rows)
	}
	before := make(map[string]*row, len(past))
	brings := payloads{room: wire.MaxInline, has: make(map[[sha256.Size]byte]bool)}
	for _, w := range past {
		before[w.id] = w
		if body, _ := w.named(); body != nil { // the hub has it, or had it a moment ago
			brings.has[body.SHA256] = true
		}
	}
	for _, w := range rows {
		if old, known := before[w.id]; !known || !old.equal(w) {
			body, _ := w.named()
			request.Resources = append(request.Resources, convert.ResourceToWaymark(&w.r, body))
			if base != nil && bring {
				brings.add(w)
			}
		}
		delete(before, w.id)
	}
	request.Payloads = brings.list
	for _, w := range past { // in their order, so that equal changes have equal bytes
		if before[w.id] != nil {
			request.Removed = append(request.Removed, w.id)
		}
	}
	if base != nil && proto.Size(request) > wire.MaxMessage-slack { // only the complete push is sure to fit
		return p.change(version, nil, false)
	}
	return marshal(request)
}

// payloads collects payloads, as far as there is room.
type payloads struct {
	room int
	list [][]byte
	has  map[[sha256.Size]byte]bool
}

// add adds a row's payload, unless it is already there, and reports whether it is there now.
func (p *payloads) add(w *row) bool {
	body, _ := w.named()
	switch {
	case body == nil || p.has[body.SHA256]:
		return true
	case len(w.r.Payload) > p.room:
		return false
	}
	if p.has == nil {
		p.has = map[[sha256.Size]byte]bool{}
	}
	p.has[body.SHA256] = true
	p.room -= len(w.r.Payload)
	p.list = append(p.list, w.r.Payload)
	return true
}

// named returns the digests of a row's payload and of the whole resource. They are computed
// once.
func (w *row) named() (body *convert.Body, digest [sha256.Size]byte) {
	if w.body == nil && w.r.Payload != nil {
		w.body = convert.BodyOf(&w.r)
	}
	if w.digest == ([sha256.Size]byte{}) {
		var payload [sha256.Size]byte
		if w.body != nil {
			payload = w.body.SHA256
		} else {
			payload = sha256.Sum256(nil)
		}
		w.digest = wire.RowName(&w.r, w.body != nil, payload)
	}
	return w.body, w.digest
}

// name is the name of the complete push.
func (p *prepared) name() wire.Name {
	if p.named == (wire.Name{}) {
		// A hub names the head that it has decoded.
		head, err := wire.HeadOf(convert.HeadFromWaymark(convert.HeadToWaymark(p.head)))
		if err != nil { // texts and numbers always have JSON
			panic(err)
		}
		rows := make([][sha256.Size]byte, len(p.rows))
		for i, w := range p.rows {
			_, rows[i] = w.named()
		}
		p.named = wire.NameOf(&head, rows)
	}
	return p.named
}

// withoutCommon removes the identical rows at the beginnings and the ends of both lists.
func withoutCommon(a, b []*row) ([]*row, []*row) {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return a, b
}

// mend changes w until a peer would accept it, or says why that isn't possible.
func mend(w *row) Reason {
	changed, err := rules.Mend(&w.r)
	w.changed = w.changed || changed
	switch {
	case err == nil:
		return ""
	case errors.Is(err, rules.ErrSource):
		return ReasonNoSource
	case errors.Is(err, rules.ErrTooLong):
		return ReasonSourceTooLong
	case errors.Is(err, rules.ErrStatus):
		return ReasonUnknownStatus
	}
	return ReasonKind
}

// mendHead returns a snapshot without version and resources, with its texts mended as by
// mend.
func mendHead(s *snapshot.Snapshot, f form, rep *report) *snapshot.Snapshot {
	head := &snapshot.Snapshot{AggregateHash: s.AggregateHash, SnapshotError: s.SnapshotError}
	_, all := f.(waymarkForm)
	if all {
		head.Discovery, head.Plugins = s.Discovery, s.Plugins
	}
	rep.mended += rules.MendHead(head)
	return head
}
