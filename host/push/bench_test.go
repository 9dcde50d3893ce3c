package push_test

import (
	"fmt"
	"testing"

	"waymark/abi"
	"waymark/host/push"
	"waymark/host/snapshot"
)

// BenchmarkPrepare is the push's own share of the CPU of an edit: 200 skills
// of 8 KiB.
func BenchmarkPrepare(b *testing.B) {
	s := &snapshot.Snapshot{Version: 1}
	for i := range 200 {
		s.Resources = append(s.Resources, file(fmt.Sprintf("/w/.agents/skills/s%03d", i), func(r *snapshot.Resource) {
			r.Kind, r.Name, r.Description = abi.KindSkill, fmt.Sprintf("s%03d", i), "What this skill is for, in a sentence."
			r.Payload = make([]byte, 8<<10)
		}))
	}
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
