package why_test

import (
	"path/filepath"
	"testing"

	"waymark/abi"
	"waymark/host/vfs"
	"waymark/host/why"
	"waymark/snapshot"
	"waymark/test/contracts/vfstest"
	"waymark/test/testenv"
)

// TestPermissions: what this user may not read. The run is made by hand, so that what
// is read is known.
func TestPermissions(t *testing.T) { testenv.RunOrdinary(t, permissions) }

func permissions(t *testing.T) {
	dir := vfstest.Build(t, []string{
		"AGENTS.md = a", "AGENTS.md ! 000", "skills/one/SKILL.md = x", "skills/one/SKILL.md ! 000", ".agents/skills/two/SKILL.md = x", ".agents/skills ! 000",
	})
	root, err := vfs.OpenRoot(dir, vfs.RootOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	view := vfs.View{Reads: []string{"AGENTS.md", "skills/*/SKILL.md", ".agents/skills/*/SKILL.md"}}
	filter, err := view.Compile()
	if err != nil {
		t.Fatal(err)
	}
	run := root.Begin(filter, vfs.Limits{})
	defer run.Close()
	for _, path := range []string{"AGENTS.md", "skills/one/SKILL.md"} {
		if _, err := run.Open(path); err == nil {
			t.Fatalf("%s can be read", path)
		}
	}
	closed, err := run.Open(".agents/skills") // says what it is, and not what is in it
	if err != nil {
		t.Fatal(err)
	}
	if _, err := closed.ReadDir(); err == nil {
		t.Fatal(".agents/skills can be listed")
	}
	unreadable := func(kind abi.Kind, path string) snapshot.Candidate {
		return snapshot.Candidate{Resource: snapshot.Resource{
			Kind: kind, Source: filepath.Join(dir, path), Status: snapshot.StatusUnreadable, Error: "no permission to read it", Resolver: "m/r@1",
		}}
	}
	candidates := []snapshot.Candidate{unreadable(abi.KindInstructionFile, "AGENTS.md"), unreadable(abi.KindSkill, "skills/one")}
	in := why.Input{
		Snapshot: &snapshot.Snapshot{}, Roots: []why.Root{{FS: root}},
		Runs: []why.Run{{Resolver: "m/r", View: view, Filter: filter, Trace: run.Trace(), Candidates: candidates}},
	}
	in.Snapshot.Resources, in.Notes = snapshot.Assemble(candidates, snapshot.Caps{})
	for _, a := range []ask{
		{"AGENTS.md", why.ReasonUnreadable, false, "instruction_file:AGENTS.md", "no permission"},
		{"skills/one", why.ReasonUnreadable, false, "skill:skills/one", "no permission"},
		{"skills/one/SKILL.md", why.ReasonUnreadable, false, "skill:skills/one", "no permission"},
		{".agents/skills", why.ReasonUnreadable, false, "", "no permission to read .agents/skills"},
		{".agents/skills/two/SKILL.md", why.ReasonUnreadable, false, "", "closed to this user"},
	} {
		a.check(t, dir, in)
	}
}
