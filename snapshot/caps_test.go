package snapshot_test

import (
	"fmt"
	"strings"
	"testing"

	"waymark/abi"
	"waymark/snapshot"
)

// skills makes n skills of a resolver.
func skills(n int, edit ...func(*snapshot.Candidate)) []snapshot.Candidate {
	list := make([]snapshot.Candidate, n)
	for i := range list {
		list[i] = find(abi.KindSkill, fmt.Sprintf("/w/skills/s%04d", i), edit...)
	}
	return list
}

// tally counts resources by status.
func tally(resources []snapshot.Resource) map[snapshot.Status]int {
	n := make(map[snapshot.Status]int)
	for _, r := range resources {
		n[r.Status]++
	}
	return n
}

func TestCaps(t *testing.T) {
	kib := payload(1 << 10)
	tests := []struct {
		name                  string
		in                    []snapshot.Candidate
		caps                  snapshot.Caps
		ok, excluded, dropped int
		why                   string
	}{
		{name: "4000 skills", in: skills(4000), ok: 4000},
		{name: "4100 skills", in: skills(4100), ok: 4000, dropped: 100, why: "more than 4000 resources"},
		{name: "16 MiB in all", in: skills(70, payload(256<<10)), ok: 64, excluded: 6, why: "more than 16777216 bytes"},
		{name: "600 skills", in: skills(600), caps: snapshot.CoderCaps(), ok: 500, excluded: 100, why: "more than 500 resources"},
		{name: "rows are bounded", in: skills(1300), caps: snapshot.CoderCaps(), ok: 500, excluded: 500, dropped: 300, why: "more than 500 resources"},
		{name: "2 MiB in all", in: skills(60, payload(64<<10)), caps: snapshot.CoderCaps(), ok: 32, excluded: 28, why: "more than 2097152 bytes"},
		{name: "a plugin has 200", in: skills(300, dropIn("acme")), ok: 200, excluded: 100, why: "the plugin acme has more than 200"},
		{name: "a plugin has 1 MiB", in: skills(20, dropIn("acme"), payload(64<<10)), ok: 16, excluded: 4, why: "the plugin acme has more than 1048576 bytes"},
		{name: "other caps", in: skills(10, kib), caps: snapshot.Caps{MaxBytes: 3 << 10}, ok: 3, excluded: 7, why: "more than 3072 bytes"},
		{name: "the rows bound what is kept", in: skills(10), caps: snapshot.Caps{MaxListed: 4, MaxResources: 8}, ok: 4, dropped: 6, why: "more than 4 resources"},
		{name: "fewer are kept, all are listed", in: skills(1300), caps: snapshot.Caps{MaxResources: 1200}, ok: 1200, excluded: 100, why: "more than 1200 resources"},
		{name: "what is kept widens the rows", in: skills(5100), caps: snapshot.Caps{MaxResources: 5000}, ok: 5000, dropped: 100, why: "more than 5000 resources"},
		{name: "negative means default", in: skills(10), caps: snapshot.Caps{MaxResources: -1}, ok: 10},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			resources, notes := snapshot.Assemble(test.in, test.caps)
			n := tally(resources)
			if n[snapshot.StatusOK] != test.ok || n[snapshot.StatusExcluded] != test.excluded || len(resources) != test.ok+test.excluded {
				t.Errorf("got %v, want %d ok and %d excluded", n, test.ok, test.excluded)
			}
			if len(notes) != test.excluded+test.dropped {
				t.Errorf("got %d notes, want %d", len(notes), test.excluded+test.dropped)
			}
			for _, note := range notes {
				if note.Reason != snapshot.ReasonExcluded || !strings.Contains(note.Detail, test.why) {
					t.Fatalf("note %+v doesn't say %q", note, test.why)
				}
			}
			for _, r := range resources {
				if r.Status == snapshot.StatusExcluded && (r.Payload != nil || !strings.Contains(r.Error, test.why)) {
					t.Fatalf("excluded row %+v", r)
				}
			}
		})
	}
}

func TestCapsFollowPrecedence(t *testing.T) {
	// The plugin's files come first in the alphabet, the built-in's win.
	in := append(skills(8, dropIn("acme"), rank(1)), find(abi.KindSkill, "/z/1"), find(abi.KindSkill, "/z/2"))
	resources, _ := snapshot.Assemble(in, snapshot.Caps{MaxResources: 2})
	for _, r := range resources {
		want := snapshot.StatusExcluded
		if strings.HasPrefix(r.Source, "/z/") {
			want = snapshot.StatusOK
		}
		if r.Status != want {
			t.Errorf("%s is %s, want %s", r.ID(), r.Status, want)
		}
	}
}

func TestOnePluginCantCrowdOutAnother(t *testing.T) {
	in := skills(450, dropIn("greedy"), rank(1))
	for i := range 50 {
		in = append(in, find(abi.KindSkill, fmt.Sprintf("/modest/%02d", i), dropIn("modest"), rank(2)))
	}
	resources, _ := snapshot.Assemble(in, snapshot.Caps{})
	modest := 0
	for _, r := range resources {
		if strings.HasPrefix(r.Source, "/modest/") && r.Status == snapshot.StatusOK {
			modest++
		}
	}
	if n := tally(resources); modest != 50 || n[snapshot.StatusOK] != 250 {
		t.Errorf("modest has %d of its 50; all: %v", modest, n)
	}
}

func TestASmallerResourceMayStillFit(t *testing.T) {
	in := []snapshot.Candidate{
		find(abi.KindInstructionFile, "/w/a", payload(6)),
		find(abi.KindInstructionFile, "/w/b", payload(6)),
		find(abi.KindInstructionFile, "/w/c", payload(4)),
	}
	resources, _ := snapshot.Assemble(in, snapshot.Caps{MaxBytes: 10})
	want := "instruction_file:/w/a ok [6], instruction_file:/w/b excluded, instruction_file:/w/c ok [4]"
	if got := strings.Join(rows(resources, row), ", "); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}
