package why_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"waymark/abi"
	"waymark/host/vfs"
	"waymark/host/vfs/vfstest"
	"waymark/host/why"
	"waymark/snapshot"
)

// asNobody gives up root's power over files for the calling thread, so that
// permissions count.
func asNobody(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	const nobody = 65534
	runtime.LockOSThread()
	if _, err := unix.SetfsuidRetUid(nobody); err != nil {
		runtime.UnlockOSThread()
		t.Skipf("needs setfsuid to give up root's power over files: %v", err)
	}
	t.Cleanup(func() {
		if _, err := unix.SetfsuidRetUid(0); err != nil {
			t.Errorf("setfsuid: %v", err)
			return // the thread ends with the goroutine
		}
		runtime.UnlockOSThread()
	})
}

// TestPermissions: what this user may not read. The run is made by hand, since
// only one thread is without power.
func TestPermissions(t *testing.T) {
	dir := vfstest.Build(t, []string{
		"AGENTS.md = a", "AGENTS.md ! 000", "skills/one/SKILL.md = x", "skills/one/SKILL.md ! 000", ".agents/skills/two/SKILL.md = x", ".agents/skills ! 000",
	})
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(dir, ".agents/skills"), 0o700) })
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
	asNobody(t)
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
