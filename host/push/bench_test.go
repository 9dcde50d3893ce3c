package push_test

import (
	"fmt"
	"slices"
	"testing"

	"waymark/abi"
	"waymark/host/push"
	"waymark/snapshot"
)

// skills is 200 skills of 8 KiB.
func skills() *snapshot.Snapshot {
	s := &snapshot.Snapshot{Version: 1}
	for i := range 200 {
		s.Resources = append(s.Resources, file(fmt.Sprintf("/w/.agents/skills/s%03d", i), func(r *snapshot.Resource) {
			r.Kind, r.Name, r.Description = abi.KindSkill, fmt.Sprintf("s%03d", i), "What this skill is for, in a sentence."
			r.Payload = make([]byte, 8<<10)
		}))
	}
	return s
}

// BenchmarkPrepare is the push's own share of the CPU of an edit, where all is
// sent.
func BenchmarkPrepare(b *testing.B) {
	s := skills()
	for _, protocol := range both() {
		b.Run(string(protocol), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, _, err := push.Prepare(s, protocol); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkPrepareDelta is the same where one of them is sent.
func BenchmarkPrepareDelta(b *testing.B) {
	before := skills()
	after := *before
	after.Version, after.Resources = 2, slices.Clone(before.Resources)
	after.Resources[100].Payload = []byte("edited")
	next, err := push.PrepareDelta(before)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		content, err := next(&after)
		if err != nil || len(content) > 1<<10 {
			b.Fatal(len(content), err)
		}
	}
}
