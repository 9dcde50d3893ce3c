package push

import (
	"google.golang.org/protobuf/proto"

	"waymark/abi"
	"waymark/snapshot"
	"waymark/wire"
)

// report says what became of a snapshot on its way to the wire.
type report struct {
	held   HeldBack
	mended int
}

// row is a resource on its way to the wire; r is a copy.
type row struct {
	r       snapshot.Resource
	changed bool
}

// prepared is a push that the peer won't refuse as a whole, without version
// and initial.
type prepared struct {
	form form
	// head is the snapshot without its resources.
	head   *snapshot.Snapshot
	rows   []row
	report report // what had to be changed or left out
}

// prepare makes of s what can be sent. The result depends on its arguments
// alone.
func prepare(s *snapshot.Snapshot, protocol wire.Protocol) (*prepared, error) {
	p := &prepared{form: formOf(protocol)}
	p.head = mendHead(s, p.form, &p.report)

	rows := make([]row, 0, len(s.Resources))
	for i := range s.Resources {
		w := row{r: s.Resources[i]}
		if reason := p.form.adapt(&w); reason != "" {
			p.report.held.add(reason)
			continue
		}
		if reason := mend(&w); reason != "" {
			p.report.held.add(reason)
			continue
		}
		rows = append(rows, w)
	}
	rows = withoutDuplicates(rows, p.form, &p.report)
	for len(rows) > wire.MaxResources {
		rows = dropLast(rows, ReasonTooMany, &p.report)
	}
	rows = fitBodies(rows, &p.report)
	var err error
	if p.rows, err = fitMessage(p.head, rows, p.form, &p.report); err != nil {
		return nil, err
	}
	for i := range p.rows {
		if p.rows[i].changed {
			p.report.mended++
		}
	}
	return p, nil
}

// full encodes all of the push behind prefix, byte by byte the same each time.
func (p *prepared) full(prefix []byte) ([]byte, error) {
	whole := *p.head
	whole.Resources = make(snapshot.Resources, 0, len(p.rows))
	for i := range p.rows {
		whole.Resources = append(whole.Resources, p.rows[i].r)
	}
	return p.form.encode(prefix, &whole)
}

// marshal is deterministic, so that equal content is equal bytes.
func marshal(prefix []byte, m proto.Message) ([]byte, error) {
	return proto.MarshalOptions{Deterministic: true}.MarshalAppend(prefix, m)
}

func dropLast(rows []row, reason Reason, rep *report) []row {
	rep.held.add(reason)
	return rows[:len(rows)-1]
}

// withoutDuplicates keeps one of the rows that are the same to the peer: the
// valid one, then that of the kind that matters most, then the first.
func withoutDuplicates(rows []row, f form, rep *report) []row {
	best := make(map[string]int, len(rows))
	for i := range rows {
		id := f.identity(&rows[i].r)
		if j, taken := best[id]; !taken || outranks(&rows[i].r, &rows[j].r) {
			best[id] = i
		}
	}
	kept := rows[:0]
	for i := range rows {
		if best[f.identity(&rows[i].r)] != i {
			rep.held.add(ReasonDuplicateSource)
			continue
		}
		kept = append(kept, rows[i])
	}
	return kept
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
