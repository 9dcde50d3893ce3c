package snapshot_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"waymark/abi"
	"waymark/snapshot"
	"waymark/test/testenv"
)

// published makes a snapshot of candidates.
func published(candidates []snapshot.Candidate, caps snapshot.Caps) *snapshot.Snapshot {
	resources, _ := snapshot.Assemble(candidates, caps)
	var p snapshot.Publisher
	s, _ := p.Publish(p.Begin(), snapshot.Content{Resources: resources, SnapshotError: "e"})
	return s
}

// picky is a peer that takes no hooks, and no skill that is named "c".
func picky(caps snapshot.Caps) *snapshot.Projection {
	return &snapshot.Projection{
		Caps: caps, UniqueSkills: true,
		Hold: func(r *snapshot.Resource) string {
			if r.Kind == abi.KindHook {
				return "hook"
			}
			return ""
		},
		Invalid: func(r *snapshot.Resource) string {
			if r.Kind == abi.KindSkill && r.Name == "c" {
				return "it is c"
			}
			return ""
		},
	}
}

func TestProjection(t *testing.T) {
	const md, skill, hook = abi.KindInstructionFile, abi.KindSkill, abi.KindHook
	for _, test := range []struct {
		name string
		in   []snapshot.Candidate
		caps snapshot.Caps
		want []string
		held map[string]int
	}{
		{
			name: "other kinds take no place",
			in:   []snapshot.Candidate{find(hook, "/w/1"), find(hook, "/w/2"), find(md, "/w/a", rank(1)), find(md, "/w/b", rank(1))},
			caps: snapshot.Caps{MaxResources: 2},
			want: []string{"instruction_file:/w/a ok [4]", "instruction_file:/w/b ok [4]"},
			held: map[string]int{"hook": 2},
		},
		{
			name: "the first valid skill of a name wins, invalid ones stay",
			in: []snapshot.Candidate{
				find(skill, "/w/1", name("foo"), bad(snapshot.StatusInvalid, "other directory name")),
				find(skill, "/w/2", name("foo"), root(1)), find(skill, "/w/3", name("foo"), root(0)), find(skill, "/w/4", name("foo"), rank(1)),
				find(skill, "/w/5"), find(skill, "/w/6"), // no names, so not the same
			},
			want: []string{"skill:/w/1 invalid foo", "skill:/w/3 ok foo [4]", "skill:/w/5 ok [4]", "skill:/w/6 ok [4]"},
			held: map[string]int{snapshot.HeldName: 2},
		},
		{
			name: "what the peer calls invalid is in nobody's way",
			in:   []snapshot.Candidate{find(skill, "/w/1", name("c")), find(skill, "/w/2", name("c")), find(skill, "/w/3", name("d"))},
			caps: snapshot.Caps{MaxBytes: 4},
			want: []string{"skill:/w/1 invalid c", "skill:/w/2 invalid c", "skill:/w/3 ok d [4]"},
		},
		{
			name: "a smaller cap, by precedence",
			in:   []snapshot.Candidate{find(md, "/w/a", rank(1)), find(md, "/w/b", payload(9)), find(md, "/w/c"), find(md, "/w/d", root(1))},
			caps: snapshot.Caps{MaxResourceBytes: 8, MaxBytes: 8},
			want: []string{"instruction_file:/w/a excluded", "instruction_file:/w/b oversize", "instruction_file:/w/c ok [4]", "instruction_file:/w/d ok [4]"},
		},
		{
			name: "rows that there are too many of",
			in:   skills(6),
			caps: snapshot.Caps{MaxResources: 2, MaxListed: 3},
			want: []string{"skill:/w/skills/s0000 ok [4]", "skill:/w/skills/s0001 ok [4]", "skill:/w/skills/s0002 excluded"},
			held: map[string]int{snapshot.HeldTooMany: 3},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := published(test.in, snapshot.Caps{})
			before := rows(s.Resources, row)
			got := picky(test.caps).Of(s)
			if diff := cmp.Diff(test.want, rows(got.Resources, row)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if fmt.Sprint(got.Held) != fmt.Sprint(test.held) {
				t.Errorf("held back %v, want %v", got.Held, test.held)
			}
			if !bytes.Equal(got.AggregateHash, snapshot.Aggregate(got.Resources)) || bytes.Equal(got.AggregateHash, s.AggregateHash) {
				t.Error("the hash isn't that of what the peer gets")
			}
			if diff := cmp.Diff(before, rows(s.Resources, row)); diff != "" {
				t.Errorf("the snapshot was changed:\n%s", diff)
			}
		})
	}
}

// TestProjectionProperties: a projection keeps the peer's caps, and of what the peer
// takes the first; it is the same for every order of finds, and invents nothing.
func TestProjectionProperties(t *testing.T) {
	seed := testenv.Seed(t)
	for round := range testenv.Rounds(100, 500, 50_000) {
		rnd := testenv.RandOf(seed, uint64(round))
		in := randomCandidates(rnd)
		caps := snapshot.Caps{MaxResourceBytes: int64(1 + rnd.IntN(12)), MaxBytes: int64(1 + rnd.IntN(80)), MaxResources: 1 + rnd.IntN(20)}
		caps.MaxListed = caps.MaxResources + rnd.IntN(20)
		peer := picky(caps)
		s := published(in, snapshot.Caps{DropInResources: 10})
		got := peer.Of(s)
		rnd.Shuffle(len(in), func(i, j int) { in[i], in[j] = in[j], in[i] })
		again := peer.Of(published(in, snapshot.Caps{DropInResources: 10}))
		if diff := cmp.Diff(got, again); diff != "" {
			t.Fatalf("round %d: another order of finds gives another projection:\n%s", round, diff)
		}
		if err := checkInvariants(got.Resources, caps); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if err := checkProjected(s, &got, caps); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		back := 0
		for _, n := range got.Held {
			back += n
		}
		if len(got.Resources)+back != len(s.Resources) {
			t.Fatalf("round %d: %d of %d rows, %v held back", round, len(got.Resources), len(s.Resources), got.Held)
		}
		if twice := peer.Of(got.Snapshot); twice.Snapshot != got.Snapshot || twice.Held != nil {
			t.Fatalf("round %d: what fits isn't what it was", round)
		}
	}
}

// checkProjected holds a projection for picky against its snapshot.
func checkProjected(s *snapshot.Snapshot, got *snapshot.Projected, caps snapshot.Caps) error {
	var bytes int64
	kept, names := 0, map[string]int{}
	for i := range got.Resources {
		r := &got.Resources[i]
		of := s.Find(r.ID())
		switch {
		case of == nil || of.Name != r.Name || of.SizeBytes != r.SizeBytes || of.ContentHash.String() != r.ContentHash.String():
			return fmt.Errorf("%s isn't what is in the snapshot", r.ID())
		case got.Changed[r.ID()] != (of.Status != r.Status):
			return fmt.Errorf("%s: changed is %t", r.ID(), got.Changed[r.ID()])
		case r.Kind == abi.KindHook, r.Kind == abi.KindSkill && r.Status == snapshot.StatusOK && r.Name == "c":
			return fmt.Errorf("%s isn't for the peer", r.ID())
		}
		if r.Status != snapshot.StatusExcluded {
			kept++
			bytes += int64(len(r.Payload))
		}
		if r.Kind == abi.KindSkill && r.Status == snapshot.StatusOK {
			names[r.Name]++
		}
	}
	for name, n := range names {
		if n > 1 {
			return fmt.Errorf("%d skills are named %s", n, name)
		}
	}
	// What isn't there, or without its text, is so because what comes before it has
	// used up what there is.
	for i := range got.Resources {
		r := &got.Resources[i]
		of := s.Find(r.ID())
		if r.Status != snapshot.StatusExcluded || of.Status == snapshot.StatusExcluded {
			continue
		}
		before, beforeBytes := 0, int64(0)
		for j := range got.Resources {
			if o := &got.Resources[j]; o.Order < r.Order && o.Status != snapshot.StatusExcluded {
				before++
				beforeBytes += int64(len(o.Payload))
			}
		}
		if before < caps.MaxResources && beforeBytes+int64(len(of.Payload)) <= caps.MaxBytes {
			return fmt.Errorf("%s is excluded, with %d resources and %d bytes before it", r.ID(), before, beforeBytes)
		}
	}
	return nil
}

// TestProjectionOfWhatFits: nothing is made anew for a peer that takes it all.
func TestProjectionOfWhatFits(t *testing.T) {
	seed := testenv.Seed(t)
	for round := range testenv.Rounds(50, 200, 5000) {
		s := published(randomCandidates(testenv.RandOf(seed, uint64(round))), snapshot.Caps{})
		if got := new(snapshot.Projection).Of(s); got.Snapshot != s || got.Held != nil || got.Changed != nil {
			t.Fatalf("round %d: %v\n%s", round, got.Held, cmp.Diff(s, got.Snapshot))
		}
	}
}

// TestOrder: what comes first has the lowest, and the Publisher tells when that is
// all that has changed.
func TestOrder(t *testing.T) {
	in := []snapshot.Candidate{find(abi.KindSkill, "/w/a", root(1)), find(abi.KindSkill, "/w/b", root(0))}
	resources, _ := snapshot.Assemble(in, snapshot.Caps{})
	if resources[0].Order != 1 || resources[1].Order != 0 {
		t.Errorf("order %d, %d", resources[0].Order, resources[1].Order)
	}
	var p snapshot.Publisher
	first, _ := p.Publish(p.Begin(), snapshot.Content{Resources: resources})
	in[0].Root, in[1].Root = 0, 1
	resources, _ = snapshot.Assemble(in, snapshot.Caps{})
	second, news := p.Publish(p.Begin(), snapshot.Content{Resources: resources})
	if !news || !bytes.Equal(first.AggregateHash, second.AggregateHash) {
		t.Error("another precedence is no news, or a chat would pin it")
	}
}

// BenchmarkProjection: what a Coder peer gets of thousands of skills, and what a hub
// does that takes them all.
func BenchmarkProjection(b *testing.B) {
	for _, n := range []int{200, 4000} {
		in := skills(n, payload(4<<10))
		for i := range in {
			in[i].Name, in[i].Description = fmt.Sprint("s", i), strings.Repeat("d", 100)
		}
		s := published(in, snapshot.Caps{})
		for name, peer := range map[string]*snapshot.Projection{"all": {}, "coder": picky(snapshot.CoderCaps())} {
			b.Run(fmt.Sprintf("skills=%d/%s", n, name), func(b *testing.B) {
				for b.Loop() {
					peer.Of(s)
				}
			})
		}
	}
}
