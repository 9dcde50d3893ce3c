package approvals_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"waymark/abi"
	"waymark/host/plugin/approvals"
	"waymark/test/contracts/vfstest"
	"waymark/test/testenv"
)

// TestGrownOfHostilePatterns: comparing what was approved with what is asked
// for now comes to an end, whatever the patterns are, and finds new paths.
func TestGrownOfHostilePatterns(t *testing.T) {
	seed, rounds := testenv.Seed(t), testenv.Rounds(3, 12, 200)
	for round := range rounds {
		r := testenv.RandOf(seed, uint64(round))
		var before, now []approvals.Read
		for _, kind := range vfstest.PatternKinds() {
			for i := range 1 + r.IntN(60) {
				before = append(before, approvals.Read{Pattern: vfstest.HostilePattern(r, kind, i)})
			}
		}
		before = append(before, approvals.Read{Pattern: strings.Repeat("{a,a}", 170)}, approvals.Read{Pattern: "docs/*.md"})
		for range 200 {
			now = append(now, approvals.Read{Pattern: letters(r)})
		}
		now = append(now, approvals.Read{Pattern: "new/AGENTS.md"}, approvals.Read{Pattern: before[0].Pattern})
		grown := approvals.Grown(before, now)
		if text := strings.Join(approvals.Texts(grown), "\n"); !strings.Contains(text, "new/AGENTS.md") || strings.Contains(text, before[0].Pattern) {
			t.Errorf("round %d: %d of %d have grown", round, len(grown), len(now))
		}
	}
}

// letters is a path that many patterns nearly match.
func letters(r *rand.Rand) string {
	var names []string
	for range 1 + r.IntN(100) {
		names = append(names, strings.Repeat(string(rune('a'+r.IntN(2))), 1+r.IntN(5)))
	}
	return strings.Join(names, "/")
}

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
