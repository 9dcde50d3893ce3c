package host_test

import (
	"fmt"
	"strings"
	"testing"

	"waymark/host"
	"waymark/host/vfs/vfstest"
	"waymark/snapshot"
)

// manySkills is a tree of so many skills of the sizes that public collections have, 8 KB
// in the mean.
func manySkills(n int) (tree []string) {
	for i := range n {
		name := fmt.Sprintf("s%04d", i)
		tree = append(tree, skill("skills/"+name, name)+strings.Repeat("x", 1000+i*7919%14_000))
	}
	return tree
}

// TestNothingIsLost: all of a collection is listed with its text, though its 3 MB are
// more than a Coder server takes; and what isn't listed is counted.
func TestNothingIsLost(t *testing.T) {
	dir := vfstest.Build(t, manySkills(402))
	roots := []host.RootSpec{{Path: dir}}
	h := newHost(t, host.Options{Builtin: module(builtin(t)), Roots: roots})
	s := refresh(t, h).Snapshot
	if n := tallyOf(s); n[snapshot.StatusOK] != 402 || len(s.Resources) != 402 || s.PayloadBytes < snapshot.CoderMaxBytes || s.SnapshotError != "" {
		t.Errorf("%v, %d bytes, %q", n, s.PayloadBytes, s.SnapshotError)
	}
	h = newHost(t, host.Options{Builtin: module(builtin(t)), Roots: roots, Caps: snapshot.Caps{MaxResources: 10, MaxListed: 100}})
	s = refresh(t, h).Snapshot
	if n := tallyOf(s); n[snapshot.StatusOK] != 10 || n[snapshot.StatusExcluded] != 90 || s.SnapshotError != "302 resources are not listed: a snapshot has at most 100" {
		t.Errorf("%v, %q", n, s.SnapshotError)
	}
	for i := range s.Resources {
		if r := &s.Resources[i]; r.Name == "" || r.Description == "" || len(r.ContentHash) == 0 || r.SizeBytes < 1000 {
			t.Fatalf("of what is excluded there is only %+v", r)
		}
	}
}
