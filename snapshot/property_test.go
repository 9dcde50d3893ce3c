package snapshot_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"waymark/abi"
	"waymark/snapshot"
)

// randomCandidates makes a small world in which ids, names and caps collide.
func randomCandidates(rnd *rand.Rand) []snapshot.Candidate {
	kinds := []abi.Kind{abi.KindInstructionFile, abi.KindSkill, abi.KindSkill, abi.KindMCPConfig, abi.KindHook}
	statuses := []snapshot.Status{snapshot.StatusOK, snapshot.StatusOK, snapshot.StatusInvalid, snapshot.StatusUnreadable, snapshot.StatusOversize}
	pick := func(n int) string { return string(rune('a' + rnd.IntN(n))) }
	list := make([]snapshot.Candidate, rnd.IntN(60))
	for i := range list {
		c := find(kinds[rnd.IntN(len(kinds))], "/w/"+pick(12),
			rank(rnd.IntN(3)), root(rnd.IntN(3)), name(pick(5)), payload(rnd.IntN(12)),
			bad(statuses[rnd.IntN(len(statuses))], pick(2)), path("/w/"+pick(12)))
		if rnd.IntN(4) == 0 {
			c.Key = pick(2)
		}
		if c.Rank > 0 {
			dropIn("plugin" + fmt.Sprint(c.Rank))(&c)
		}
		c.SourcePath, c.Stale = pick(2), rnd.IntN(2) == 0
		c.Attributes = snapshot.Attributes{pick(2): {Text: pick(2)}}
		c.Readers, c.Findings = []string{pick(2)}, []snapshot.Finding{{Code: pick(2)}}
		list[i] = c
	}
	return list
}

func TestAssembleProperties(t *testing.T) {
	caps := snapshot.Caps{MaxResourceBytes: 10, MaxBytes: 60, MaxResources: 12, MaxListed: 20, DropInResources: 4, DropInBytes: 20}
	for seed := range uint64(400) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		in := randomCandidates(rnd)
		resources, notes := snapshot.Assemble(in, caps)

		rnd.Shuffle(len(in), func(i, j int) { in[i], in[j] = in[j], in[i] })
		again, notesAgain := snapshot.Assemble(in, caps)
		if diff := cmp.Diff(resources, again); diff != "" {
			t.Fatalf("seed %d: another order of candidates gives other resources:\n%s", seed, diff)
		}
		if diff := cmp.Diff(notes, notesAgain); diff != "" {
			t.Fatalf("seed %d: another order of candidates gives other notes:\n%s", seed, diff)
		}
		if diff := cmp.Diff(resources, reassemble(resources, in, caps), cmpopts.IgnoreFields(snapshot.Resource{}, "Order")); diff != "" {
			t.Fatalf("seed %d: a second time changes the result:\n%s", seed, diff)
		}
		if err := checkInvariants(resources, caps); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if listed, out := len(resources), goneNotes(notes, resources); listed+out != len(in) {
			t.Fatalf("seed %d: %d candidates, %d rows and %d notes of dropped ones", seed, len(in), listed, out)
		}
	}
}

// reassemble feeds a result back in.
func reassemble(resources []snapshot.Resource, in []snapshot.Candidate, caps snapshot.Caps) []snapshot.Resource {
	dropIns := make(map[string]bool)
	for _, c := range in {
		dropIns[c.Resolver] = c.DropIn
	}
	var candidates []snapshot.Candidate
	for _, r := range resources {
		candidates = append(candidates, snapshot.Candidate{Resource: r, DropIn: dropIns[r.Resolver]})
	}
	again, _ := snapshot.Assemble(candidates, caps)
	return again
}

// goneNotes counts the notes about candidates that aren't listed at all.
func goneNotes(notes []snapshot.Note, resources []snapshot.Resource) int {
	listed := make(map[string]bool)
	for _, r := range resources {
		listed[r.ID()] = true
	}
	n := 0
	for _, note := range notes {
		if note.Winner != "" || !listed[note.ID] {
			n++
		}
		if note.Winner == "" && !listed[note.ID] && note.Reason == snapshot.ReasonOversize {
			n-- // an oversize row that was excluded later has two notes
		}
	}
	return n
}

func checkInvariants(resources []snapshot.Resource, caps snapshot.Caps) error {
	var bytes int64
	kept, last := 0, ""
	for _, r := range resources {
		id := r.ID()
		if id <= last {
			return fmt.Errorf("%s after %s", id, last)
		}
		last = id
		if r.Status != snapshot.StatusExcluded {
			kept++
		}
		if r.Payload != nil && (r.Status != snapshot.StatusOK || r.Kind == abi.KindMCPConfig) {
			return fmt.Errorf("%s is %s and has a payload", id, r.Status)
		}
		if int64(len(r.Payload)) > caps.MaxResourceBytes {
			return fmt.Errorf("%s has %d bytes", id, len(r.Payload))
		}
		bytes += int64(len(r.Payload))
	}
	if bytes > caps.MaxBytes || kept > caps.MaxResources || len(resources) > caps.MaxListed {
		return fmt.Errorf("%d bytes, %d kept, %d rows", bytes, kept, len(resources))
	}
	return nil
}
