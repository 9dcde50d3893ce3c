package host_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waymark/host"
	"waymark/host/vfs"
	"waymark/snapshot"
	"waymark/test/testenv"
)

// TestManySkills: the limits of the built-in module are enough for all that a snapshot
// lists, and an operator's smaller ones hold.
func TestManySkills(t *testing.T) {
	t.Parallel()
	skills := testenv.Rounds(400, 4000, 4000)
	dir := t.TempDir()
	for i := range skills {
		at := filepath.Join(dir, "skills", fmt.Sprintf("skill-%04d", i))
		if err := os.MkdirAll(at, 0o700); err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf("---\nname: skill-%04d\ndescription: %s\n---\n", i, strings.Repeat("what it is for ", 30))
		if err := os.WriteFile(filepath.Join(at, "SKILL.md"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	options := host.Options{Builtin: module(builtin(t)), Roots: []host.RootSpec{{Path: dir}}, Caps: snapshot.Caps{MaxResources: skills}}
	report := refresh(t, newHost(t, options))
	for _, o := range report.Outcomes {
		if o.Err != nil {
			t.Errorf("%s: %v", o.Resolver, o.Err)
		}
	}
	if n := len(report.Snapshot.Resources); n != skills {
		t.Errorf("%d resources", n)
	}
	options.FileLimits = vfs.Limits{Opens: 100}
	report = refresh(t, newHost(t, options))
	if n := len(report.Snapshot.Resources); n != 0 {
		t.Errorf("%d resources with 100 files opened", n)
	}
}
