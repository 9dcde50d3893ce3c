package host

import (
	"slices"
	"testing"

	"waymark/host/resolve"
	"waymark/host/vfs"
	"waymark/test/contracts/vfstest"
)

// TestWatchSetOfGlobs: a listing that can show names of a pattern alone is watched for
// these and for no others.
func TestWatchSetOfGlobs(t *testing.T) {
	dir := vfstest.Build(t, []string{"AGENTS.md = x", ".roorules-code = y", "other = z"})
	root, err := vfs.OpenRoot(dir, vfs.RootOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	filter, err := vfs.View{Reads: []string{"AGENTS.md", ".roorules-*", "skills/*/SKILL.md"}}.Compile()
	if err != nil {
		t.Fatal(err)
	}
	run := root.Begin(filter, vfs.Limits{})
	defer func() { _ = run.Close() }()
	f, err := run.Open(".")
	if err != nil {
		t.Fatal(err)
	}
	if list, err := f.ReadDir(); err != nil || len(list) != 2 {
		t.Fatalf("%v, %v", list, err)
	}
	slot := &rootSlot{open: root}
	seen := false
	for _, d := range watchOf(slot, []resolve.Outcome{{Filter: filter, Trace: run.Trace()}}) {
		if d.Path != root.Path() {
			continue
		}
		seen = true
		if !slices.Equal(d.Names, []string{"AGENTS.md", "skills"}) || !slices.Equal(d.Globs, []string{".roorules-*"}) {
			t.Errorf("watched for %q and %q", d.Names, d.Globs)
		}
	}
	if !seen {
		t.Error("the root isn't watched")
	}
}
