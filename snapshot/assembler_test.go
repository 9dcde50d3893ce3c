package snapshot_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"waymark/snapshot"
	"waymark/test/testenv"
)

// TestAssemblerEqualsAssemble: a list that is patched is the one that would be made.
func TestAssemblerEqualsAssemble(t *testing.T) {
	seed := testenv.Seed(t)
	for round := range testenv.Rounds(40, 150, 20_000) {
		rnd := testenv.RandOf(seed, uint64(round))
		caps := snapshot.Caps{MaxResourceBytes: 10, MaxBytes: int64(20 + rnd.IntN(200)), MaxResources: 12 + rnd.IntN(60), MaxListed: 20 + rnd.IntN(60), DropInResources: 4, DropInBytes: 20}
		groups := randomGroups(rnd)
		var a snapshot.Assembler
		for step := range 10 {
			if rnd.IntN(8) == 0 {
				groups = randomGroups(rnd)
			}
			groups = slices.Clone(groups) // those before are the Assembler's
			for range rnd.IntN(3) {
				g := rnd.IntN(len(groups))
				list := slices.Clone(groups[g])
				for range min(rnd.IntN(3), len(list)) {
					list[rnd.IntN(len(list))] = changed(rnd, list)
				}
				groups[g] = list
			}
			resources, notes := a.Assemble(groups, caps)
			want, wantNotes := snapshot.Assemble(slices.Concat(groups...), caps)
			if diff := cmp.Diff(want, resources) + cmp.Diff(wantNotes, notes); diff != "" {
				t.Fatalf("round %d step %d:\n%s", round, step, diff)
			}
		}
	}
}

// randomGroups cuts candidates into some groups, of which some may be empty.
func randomGroups(rnd *rand.Rand) [][]snapshot.Candidate {
	list := randomCandidates(rnd)
	groups := make([][]snapshot.Candidate, 1+rnd.IntN(4))
	for i := range groups[1:] {
		n := rnd.IntN(len(list) + 1)
		groups[i], list = list[:n:n], list[n:]
	}
	groups[len(groups)-1] = list
	return groups
}

// changed is one of the candidates with something else: mostly its content.
func changed(rnd *rand.Rand, list []snapshot.Candidate) snapshot.Candidate {
	c := list[rnd.IntN(len(list))]
	if rnd.IntN(2) == 0 && c.Status == snapshot.StatusOK {
		payload(rnd.IntN(12))(&c)
	}
	switch rnd.IntN(12) {
	case 0:
		c.Name = string(rune('a' + rnd.IntN(5)))
	case 1:
		c.Status, c.Payload = snapshot.StatusInvalid, nil
	case 2:
		c.Root = rnd.IntN(3)
	case 3:
		c.Description = string(rune('a' + rnd.IntN(5)))
	case 4:
		c.Source = "/w/" + string(rune('a'+rnd.IntN(12)))
	}
	return c
}

// TestAssemblerPatches: an edit of one file of many doesn't make the list anew.
func TestAssemblerPatches(t *testing.T) {
	many := func(text string) []snapshot.Candidate {
		var list []snapshot.Candidate
		for i := range 1000 {
			c := find("skill", "/w/"+string(rune('a'+i%26))+string(rune('a'+i/26)), name(string(rune('a'+i%26))+string(rune('a'+i/26))), payload(3))
			if i == 500 {
				c.Payload = []byte(text)
			}
			list = append(list, c)
		}
		return list
	}
	var a snapshot.Assembler
	a.Assemble([][]snapshot.Candidate{many("one")}, snapshot.Caps{MaxResources: 2000})
	lists := [][][]snapshot.Candidate{{many("two")}, {many("three")}}
	i := 0
	patched := testing.AllocsPerRun(10, func() { a.Assemble(lists[i%2], snapshot.Caps{MaxResources: 2000}); i++ })
	whole := testing.AllocsPerRun(10, func() { snapshot.Assemble(lists[0][0], snapshot.Caps{MaxResources: 2000}) })
	if patched > 20 || patched > whole/20 {
		t.Errorf("%v allocations for one find that is another, %v for all", patched, whole)
	}
}
