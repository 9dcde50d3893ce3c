package host_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"waymark/host"
	"waymark/host/why"
	"waymark/snapshot"
	"waymark/test/contracts/vfstest"
	"waymark/test/testenv"
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
	if n := tallyOf(s); n[snapshot.StatusOK] != 10 || n[snapshot.StatusExcluded] != 90 || s.SnapshotError != "302 resources are not listed: a snapshot has at most 100 (302 of waymark/context in "+dir+")" {
		t.Errorf("%v, %q", n, s.SnapshotError)
	}
	for i := range s.Resources {
		if r := &s.Resources[i]; r.Name == "" || r.Description == "" || len(r.ContentHash) == 0 || r.SizeBytes < 1000 {
			t.Fatalf("of what is excluded there is only %+v", r)
		}
	}
}

// TestManyInOneRoot: however the finds that are too many are spread over roots, resolvers
// and answers, all that isn't listed is counted, and by what it is: what two links lead to
// is one. A memo of it, of this process or of an earlier one, says the same.
func TestManyInOneRoot(t *testing.T) {
	t.Parallel()
	spread := func(dir string, skills int) (tree []string) {
		for i := range skills {
			tree = append(tree, skill(fmt.Sprintf("%s/s%05d", dir, i), fmt.Sprintf("s%05d", i)))
		}
		return tree
	}
	const skills = ".agents/skills"
	listed := testenv.Rounds(200, snapshot.DefaultMaxListed, snapshot.DefaultMaxListed)
	for name, c := range map[string]struct {
		trees [][]string
		want  string // in which N stands for a root's path
		path  string // that isn't listed
	}{
		"two roots": {
			trees: [][]string{spread(skills, listed+1), spread(skills, 2)}, path: fmt.Sprintf("%s/s%05d", skills, listed),
			want: fmt.Sprintf("3 resources are not listed: a snapshot has at most %d (1 of waymark/context in 0, 2 of waymark/context in 1)", listed),
		},
		"found twice": {trees: [][]string{append(spread(skills, listed*5/8), ".claude/skills -> ../"+skills)}},
	} {
		t.Run(name, func(t *testing.T) {
			opts := host.Options{Builtin: module(builtin(t)), MemoDir: t.TempDir(), KeyDir: sharedKey(t, t.TempDir()+"/key"), Caps: snapshot.Caps{MaxListed: listed}}
			want := c.want
			for i, tree := range c.trees {
				dir := vfstest.Build(t, tree)
				opts.Roots = append(opts.Roots, host.RootSpec{Path: dir})
				want = strings.ReplaceAll(want, fmt.Sprintf("in %d", i), "in "+dir)
			}
			h := newHost(t, opts)
			for range 2 { // the second time from memos
				if s := refresh(t, h).Snapshot; s.SnapshotError != want {
					t.Errorf("of %d resources: %q, want %q", len(s.Resources), s.SnapshotError, want)
				}
			}
			if c.path != "" {
				for _, path := range []string{c.path, c.path + "/SKILL.md"} {
					a, err := h.Why(t.Context(), filepath.Join(opts.Roots[0].Path, path))
					if err != nil || a.Found || a.Reason != why.ReasonExcluded || !strings.Contains(a.Detail, "not listed") {
						t.Errorf("why %s: %+v, %v", path, a, err)
					}
				}
			}
			if err := h.Close(); err != nil {
				t.Fatal(err)
			}
			if s := refresh(t, newHost(t, opts)).Snapshot; s.SnapshotError != want {
				t.Errorf("of %d resources, started anew: %q, want %q", len(s.Resources), s.SnapshotError, want)
			}
		})
	}
}
