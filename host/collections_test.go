package host_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"waymark/abi"
	"waymark/host"
	"waymark/snapshot"
	"waymark/test/testenv"
	"waymark/test/workspaces"
)

// partsOf are what a snapshot has of a directory.
func partsOf(s *snapshot.Snapshot, dir string) (parts []workspaces.Part) {
	for i := range s.Resources {
		r := &s.Resources[i]
		source, err := filepath.Rel(dir, r.Source)
		if err != nil {
			source = r.Source
		}
		parts = append(parts, workspaces.Part{Kind: r.Kind, Path: filepath.ToSlash(source), Plugin: r.Attributes["plugin"].Text, Invalid: r.Status == snapshot.StatusInvalid})
	}
	return parts
}

// TestLargeCollections: of collections as large as those that people publish a snapshot has
// everything, of each kind and each plugin.
func TestLargeCollections(t *testing.T) {
	r := testenv.Rand(t)
	for range testenv.Rounds(2, 8, 100) {
		c := workspaces.Collect(r, 40+r.IntN(60))
		dir, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Write(dir); err != nil {
			t.Fatal(err)
		}
		h := newHost(t, host.Options{Builtin: module(builtin(t)), Roots: []host.RootSpec{{Path: dir}}})
		report := refresh(t, h)
		if lines := c.Differences(partsOf(report.Snapshot, dir)); len(lines) > 0 {
			t.Fatalf("%s, %d plugins and %d skills:\n%s", c.Shape, c.Count(abi.KindPlugin), c.Count(abi.KindSkill), strings.Join(lines, "\n"))
		}
	}
}

// TestDuplicatesOfPlugins: a skill that a plugin brings, and to which links lead from where
// agents look, is one, by the path that agents look at first, and the plugin's all the same.
func TestDuplicatesOfPlugins(t *testing.T) {
	skill := func(name string) string { return "---\nname: " + name + "\ndescription: d\n---\n" }
	for name, tt := range map[string]struct {
		tree []string
		want []string // path, plugin
	}{
		"of the plugin that the root is": {[]string{
			`.claude-plugin/plugin.json = {"name":"p"}`, "skills/a/SKILL.md = " + skill("a"), "skills/b/SKILL.md = " + skill("b"),
			".claude/skills/a -> ../../skills/a", ".agents/skills -> ../skills",
		}, []string{"a p", "b p"}},
		"of a listed plugin": {[]string{
			`.claude-plugin/marketplace.json = {"name":"m","plugins":[{"name":"p","source":"./p"},{"name":"q","source":"./q"}]}`,
			"p/skills/a/SKILL.md = " + skill("a"), "q/skills -> ../p/skills", ".claude/skills/a -> ../../p/skills/a",
		}, []string{"a p"}},
		"of a project": {[]string{
			".agents/skills/a/SKILL.md = " + skill("a"), ".claude/skills -> ../.agents/skills", ".github/skills/a -> ../../.agents/skills/a",
		}, []string{"a "}},
	} {
		t.Run(name, func(t *testing.T) {
			dir, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			for _, line := range tt.tree {
				if at, target, link := strings.Cut(line, " -> "); link {
					if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, at)), 0o755); err != nil {
						t.Fatal(err)
					}
					if err := os.Symlink(target, filepath.Join(dir, at)); err != nil {
						t.Fatal(err)
					}
					continue
				}
				at, text, _ := strings.Cut(line, " = ")
				put(t, filepath.Join(dir, at), text)
			}
			h := newHost(t, host.Options{Builtin: module(builtin(t)), Roots: []host.RootSpec{{Path: dir}}})
			report := refresh(t, h)
			var got []string
			for i := range report.Snapshot.Resources {
				if r := &report.Snapshot.Resources[i]; r.Kind == abi.KindSkill {
					got = append(got, r.Name+" "+r.Attributes["plugin"].Text)
					t.Logf("%s %v", relative(r.Source, dir), r.Readers)
				}
			}
			if slices.Sort(got); !slices.Equal(got, tt.want) {
				t.Errorf("skills %q, want %q", got, tt.want)
			}
		})
	}
}
