package host_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"waymark/host"
	"waymark/host/why"
	"waymark/snapshot"
	"waymark/test/contracts/vfstest"
	"waymark/test/testenv"
)

// TestModesOfWhatIsNoFile: what stands in the place of a file and isn't one is
// reported by what it is, whatever its permissions are and were, and why says the
// same.
func TestModesOfWhatIsNoFile(t *testing.T) {
	t.Parallel()
	testenv.RunOrdinary(t, func(t *testing.T) {
		dir := vfstest.Build(t, []string{
			"dir/x = x", "AGENTS.md -> dir", ".mcp.json -> dir", "CLAUDE.md |", "socket ^", ".cursorrules -> socket", "skills/one/SKILL.md -> ../../dir",
			"skills/two/SKILL.md |", "skills/three/SKILL.md/x = x",
		})
		t.Cleanup(func() { vfstest.Reopen(dir) })
		want := []string{
			"instruction_file:AGENTS.md invalid a link to a directory, where a file belongs",
			"instruction_file:CLAUDE.md unreadable not a regular file",
			"instruction_file:socket unreadable not a regular file",
			"mcp_config:.mcp.json invalid it is a directory",
			"skill:skills/one invalid SKILL.md is a link to a directory, where a file belongs",
			"skill:skills/two unreadable not a regular file",
		}
		reasons := map[string]why.Reason{
			"AGENTS.md": why.ReasonInvalid, ".mcp.json": why.ReasonInvalid, "skills/one/SKILL.md": why.ReasonInvalid,
			"CLAUDE.md": why.ReasonNotRegular, ".cursorrules": why.ReasonNotRegular, "skills/two/SKILL.md": why.ReasonNotRegular,
		}
		h := newHost(t, host.Options{Builtin: module(builtin(t)), Roots: []host.RootSpec{{Path: dir}}})
		for _, mode := range []os.FileMode{0o755, 0, 0o600, 0o100, 0o444, 0} {
			for _, name := range []string{"dir", "CLAUDE.md", "socket", "skills/two/SKILL.md", "skills/three/SKILL.md"} {
				chmod(t, dir, name, mode)
			}
			report := refresh(t, h)
			if got := lines(report.Snapshot.Resources, dir); !slices.Equal(got, want) {
				t.Errorf("%o: %q\nwant %q", mode, got, want)
			}
			if report.Snapshot.Version != 1 {
				t.Errorf("%o: version %d", mode, report.Snapshot.Version)
			}
			for name, want := range reasons {
				if a, err := h.Why(t.Context(), filepath.Join(dir, name)); err != nil || a.Reason != want {
					t.Errorf("%o: %s: %+v, %v; want %s", mode, name, a, err, want)
				}
			}
		}
	})
}

// TestUnreadableRoot: a root that this user can't read isn't looked at, and it is
// said so wherever somebody looks; it costs one version, and none while nothing
// changes.
func TestUnreadableRoot(t *testing.T) {
	t.Parallel()
	testenv.RunOrdinary(t, func(t *testing.T) {
		dir := vfstest.Build(t, []string{"work/F.md = w", "up/source/F.md = s", "file/F.md = f", "ok/F.md = o"})
		t.Cleanup(func() { vfstest.Reopen(dir) })
		at := func(name string) string { return filepath.Join(dir, name) }
		var logs logBuffer
		h := newHost(t, host.Options{
			Builtin: module(tiny{name: "a", version: "1"}.build()), Logger: debugLogger(&logs), Watch: quick,
			Roots: []host.RootSpec{
				{Path: at("work")}, {Path: at("up/source"), Source: true, Optional: true}, {Path: at("file/F.md"), Optional: true}, {Path: at("ok")},
			},
		})
		running(t, h)
		all := []string{"command:file/F.md#a ok", "command:ok/F.md#a ok", "command:up/source/F.md#a ok", "command:work/F.md#a ok"}
		reaches := func(what string, want []string) *snapshot.Snapshot {
			t.Helper()
			return awaitSnapshot(t, h, what, func(s *snapshot.Snapshot) bool { return slices.Equal(lines(s.Resources, dir), want) })
		}
		version := reaches("all", all).Version
		for _, c := range []struct {
			close, root string
			gone        int
			mode        os.FileMode
			detail      string
		}{
			{"work", "work", 3, 0, "may not list it"},
			{"work", "work", 3, 0o300, "may not list it"},
			{"work", "work", 3, 0o600, "may not list it"},
			{"up/source", "up/source", 2, 0o300, "may not list it"},
			{"up", "up/source", 2, 0o600, fmt.Sprintf("may not look into %q", at("up"))},
			{"file", "file/F.md", 0, 0, fmt.Sprintf("may not look into %q", at("file"))},
			{"file/F.md", "file/F.md", 0, 0o300, "may not read it"},
		} {
			name := fmt.Sprintf("chmod %o %s", c.mode, c.close)
			chmod(t, dir, c.close, c.mode)
			s := reaches(name, slices.Delete(slices.Clone(all), c.gone, c.gone+1))
			if !strings.Contains(s.SnapshotError, at(c.root)+" is not looked at: ") || !strings.Contains(s.SnapshotError, c.detail) {
				t.Errorf("%s: the snapshot says %q", name, s.SnapshotError)
			}
			if version++; s.Version != version || len(s.Plugins) != 1 || s.Plugins[0].State != snapshot.PluginReady {
				t.Errorf("%s: version %d with %+v, want %d", name, s.Version, s.Plugins, version)
			}
			status := h.Status()
			if len(status.Refused) != 1 || status.Refused[0].Path != at(c.root) || !errors.Is(status.Refused[0].Err, fs.ErrPermission) {
				t.Errorf("%s: refused are %v", name, status.Refused)
			}
			file := at(c.root)
			if filepath.Base(file) != "F.md" {
				file = filepath.Join(file, "F.md")
			}
			if a, err := h.Why(t.Context(), file); err != nil || a.Reason != why.ReasonUnreadable || a.Root != at(c.root) || !strings.Contains(a.Detail, c.detail) {
				t.Errorf("%s: why: %+v, %v", name, a, err)
			}
			for range 5 {
				if s := refresh(t, h).Snapshot; s.Version != version {
					t.Errorf("%s: version %d, nothing has changed since %d", name, s.Version, version)
				}
			}
			chmod(t, dir, c.close, 0o755)
			s = reaches(name+", and back", all)
			if version++; s.Version != version || s.SnapshotError != "" || len(h.Status().Refused) != 0 {
				t.Errorf("%s, and back: version %d, %q, want %d", name, s.Version, s.SnapshotError, version)
			}
		}
		if n := strings.Count(logs.String(), "root not looked at"); n != 7 {
			t.Errorf("it is logged %d times", n)
		}
		for _, path := range []string{"work", "file/F.md"} {
			chmod(t, dir, path, 0)
			_, err := host.New(host.Options{Roots: []host.RootSpec{{Path: at(path)}}})
			if !errors.Is(err, host.ErrRoot) || !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "permission denied: this user may not") {
				t.Errorf("%s: %v", path, err)
			}
		}
	})
}

// TestFailingRaisesNoVersion: one that fails does so in one version, also when it is
// tried again, rests and is tried again.
func TestFailingRaisesNoVersion(t *testing.T) {
	t.Parallel()
	h := newHost(t, host.Options{
		Builtin: module(tiny{name: "bad", version: "1", fails: true}.build()),
		Roots:   []host.RootSpec{{Path: vfstest.Build(t, []string{"F.md = x"})}},
	})
	quarantined := false
	for try := range 10 {
		report := refresh(t, h)
		if try == 5 {
			var err error
			if report, err = h.RetryPlugins(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		p, now := report.Snapshot.Plugins[0], h.Status().Plugins[0]
		if report.Snapshot.Version != 1 || p.State != snapshot.PluginFailing || !strings.Contains(p.Error, "bad answer") {
			t.Errorf("try %d: version %d, %+v", try, report.Snapshot.Version, p)
		}
		if now.State == snapshot.PluginQuarantined && strings.HasPrefix(now.Error, "quarantined for ") {
			quarantined = true
		}
	}
	if !quarantined {
		t.Error("the status doesn't tell of the quarantine")
	}
}

// TestClosedAtStart: a root that can't be reached or listed when the Host starts is
// found as soon as it can be, by events alone.
func TestClosedAtStart(t *testing.T) {
	t.Parallel()
	testenv.RunOrdinary(t, func(t *testing.T) {
		dir := vfstest.Build(t, []string{"up/further/down/F.md = d", "up ! 000", "closed/F.md = c", "closed ! 000", "file/F.md = f", "file/F.md ! 000"})
		t.Cleanup(func() { vfstest.Reopen(dir) })
		at := func(name string) string { return filepath.Join(dir, name) }
		h := newHost(t, host.Options{
			Builtin: module(tiny{name: "a", version: "1"}.build()), Watch: quick,
			Roots: []host.RootSpec{{Path: at("up/further/down"), Optional: true}, {Path: at("closed"), Optional: true}, {Path: at("file/F.md"), Optional: true}},
		})
		running(t, h)
		awaitSnapshot(t, h, "closed", func(s *snapshot.Snapshot) bool { return strings.Contains(s.SnapshotError, "2 more are not looked at") })
		var want []string
		for _, name := range []string{"closed", "file/F.md", "up"} {
			chmod(t, dir, name, 0o755)
			want = append(want, "command:"+map[string]string{"closed": "closed/F.md", "file/F.md": "file/F.md", "up": "up/further/down/F.md"}[name]+"#a ok")
			awaitSnapshot(t, h, name+" opened", func(s *snapshot.Snapshot) bool { return slices.Equal(lines(s.Resources, dir), want) })
		}
		if s := h.Current(); s.SnapshotError != "" {
			t.Errorf("in the end: %q", s.SnapshotError)
		}
	})
}

// TestDirectoriesThatAreNotLookedInto: a directory where agents look that nobody may list, or
// that a link has outside of the root, is reported once, with its reason.
func TestDirectoriesThatAreNotLookedInto(t *testing.T) {
	t.Parallel()
	testenv.RunOrdinary(t, func(t *testing.T) {
		dir := vfstest.Build(t, []string{
			"root/AGENTS.md = x", "root/.cursor/rules/deep/a.mdc = x", "root/.cursor/rules/b.mdc = x", "root/.claude/agents -> ../../out", "root/.github/skills -> ../../out",
			"root/.windsurf/x = x", "root/.roo -> /nowhere", "out/a.md = outside",
		})
		t.Cleanup(func() { vfstest.Reopen(dir) })
		chmod(t, dir, "root/.cursor/rules/deep", 0)
		chmod(t, dir, "root/.windsurf", 0)
		h := newHost(t, host.Options{Builtin: module(builtin(t)), Roots: []host.RootSpec{{Path: filepath.Join(dir, "root")}}})
		report := refresh(t, h)
		compare(t, "resources", lines(report.Snapshot.Resources, filepath.Join(dir, "root")), []string{
			"instruction_file:.cursor/rules/b.mdc ok", "instruction_file:.cursor/rules/deep invalid the directory can't be listed: permission denied",
			"instruction_file:.roo invalid the link escapes the root", "instruction_file:.windsurf invalid the directory can't be listed: permission denied",
			"instruction_file:AGENTS.md ok", "skill:.github/skills invalid the link escapes the root", "subagent:.claude/agents invalid the link escapes the root",
		})
		chmod(t, dir, "root/.cursor/rules/deep", 0o755)
		report = refresh(t, h)
		if got := lines(report.Snapshot.Resources, filepath.Join(dir, "root")); !slices.Contains(got, "instruction_file:.cursor/rules/deep/a.mdc ok") || len(got) != 7 {
			t.Errorf("once it may be listed: %q", got)
		}
	})
}
