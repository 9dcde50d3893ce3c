package push

import (
	"google.golang.org/protobuf/proto"

	"waymark/abi"
	"waymark/host/snapshot"
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

// prepare encodes s as a push that the peer won't refuse as a whole, without
// version and initial, and says what had to be changed or left out for that.
// The result depends on its arguments alone, byte by byte.
func prepare(s *snapshot.Snapshot, protocol wire.Protocol) ([]byte, report, error) {
	var rep report
	f := formOf(protocol)
	head := mendHead(s, f, &rep)

	rows := make([]row, 0, len(s.Resources))
	for i := range s.Resources {
		w := row{r: s.Resources[i]}
		if reason := f.adapt(&w); reason != "" {
			rep.held.add(reason)
			continue
		}
		if reason := mend(&w); reason != "" {
			rep.held.add(reason)
			continue
		}
		rows = append(rows, w)
	}
	rows = withoutDuplicates(rows, f, &rep)
	for len(rows) > wire.MaxResources {
		rows = dropLast(rows, ReasonTooMany, &rep)
	}
	rows = fitBodies(rows, &rep)
	rows, err := fitMessage(head, rows, f, &rep)
	if err != nil {
		return nil, report{}, err
	}
	for i := range rows {
		head.Resources = append(head.Resources, rows[i].r)
		if rows[i].changed {
			rep.mended++
		}
	}
	content, err := f.encode(head)
	return content, rep, err
}

// marshal is deterministic, so that equal content is equal bytes.
func marshal(m proto.Message) ([]byte, error) {
	return proto.MarshalOptions{Deterministic: true}.Marshal(m)
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
