package approvals_test

import (
	"strings"
	"testing"

	"waymark/abi"
	"waymark/host/approvals"
)

// TestManyReads: what a module declares decides how much there is to compare,
// and its patterns how long each comparison would take.
func TestManyReads(t *testing.T) {
	describe := func(pattern func(i int) string) *abi.Description {
		d := &abi.Description{}
		for i := range 32 {
			r := abi.Resolver{Kinds: []abi.Kind{abi.KindSkill}}
			for j := range 256 {
				r.Reads = append(r.Reads, pattern(i*256+j))
				r.ReadsFromConfig = append(r.ReadsFromConfig, pattern(i*256+j))
			}
			d.Resolvers = append(d.Resolvers, r)
		}
		return d
	}
	name := func(i int) string { return strings.Repeat("a", 200) + string(rune('0'+i%64)) + string(rune('0'+i/64)) }
	stars := approvals.ReadsOf(describe(func(i int) string { return strings.Repeat("**/*a*/", 20) + name(i) + "*b" }))
	plain := approvals.ReadsOf(describe(func(i int) string { return strings.Repeat("aaaa/", 50) + name(i) + "c" }))
	if len(stars) != 16384 || len(plain) != 16384 {
		t.Fatalf("%d and %d reads", len(stars), len(plain))
	}
	if n := len(approvals.Grown(stars, plain)); n != 16384 {
		t.Errorf("%d of them are new", n)
	}
	if n := len(approvals.Grown(plain, plain)); n != 0 {
		t.Errorf("%d of the same are new", n)
	}
	braces := []approvals.Read{{Pattern: strings.Repeat("{a,aa}", 150) + "b"}}
	if n := len(approvals.Grown(braces, []approvals.Read{{Pattern: strings.Repeat("a", 250)}})); n != 1 {
		t.Errorf("%d are new beside braces", n)
	}
}
