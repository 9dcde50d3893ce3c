package vfs_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waymark/host/vfs"
	"waymark/test/contracts/vfstest"
	"waymark/test/testenv"
)

// TestHardLinks: a file is refused when one of its names is protected,
// wherever in the root that is and whichever pattern protects it.
func TestHardLinks(t *testing.T) {
	seed, rounds := testenv.Seed(t), testenv.Rounds(20, 100, 2000)
	dirs := []string{"", "a/", "a/b/c/", "node_modules/p/", "sub/.hidden/", "vendor/x/"}
	homes := []string{"", "docs/", "a/b/", "a/"}
	excluded := []string{"private/**", "vendor/x/*.txt"}
	for round := range rounds {
		r := testenv.RandOf(seed, uint64(round))
		places := append(listed(), "private/notes", ".git/hooks/pre-commit", ".git/modules/x/config", ".git/objects/ab/cd", ".ssh/a/b/c")
		place := dirs[r.IntN(len(dirs))] + places[r.IntN(len(places))]
		if r.IntN(2) == 0 {
			place = dirs[r.IntN(len(dirs))] + strings.TrimSuffix(place, "/") + strings.Repeat("/deep", r.IntN(3)) // below it
		}
		as := homes[r.IntN(len(homes))] + "AGENTS.md"
		root, err := vfs.OpenRoot(vfstest.Build(t, []string{place + " = TOKEN", as + " => " + place, "plain = x", "other => plain"}), vfs.RootOptions{Exclude: excluded})
		if err != nil {
			t.Fatal(err)
		}
		for _, mcp := range []bool{false, true} {
			filter, err := vfs.View{Reads: []string{"**"}, MCPOnly: mcp}.Compile()
			if err != nil {
				t.Fatal(err)
			}
			want := root.Judge(filter, place).Reason
			run := root.Begin(filter, vfs.Limits{})
			c, err := run.Content(as)
			var e *vfs.Error
			if hidden := errors.As(err, &e) && e.Reason == want && c.Data == nil && c.Class == vfs.ContentHidden; hidden != (want != vfs.ReasonNone) {
				t.Errorf("round %d: %s => %s, mcp %v: %q %v, want it %q", round, as, place, mcp, c.Data, err, want)
			}
			if c, err := run.Content("other"); err != nil || string(c.Data) != "x" {
				t.Errorf("round %d: a file of two harmless names: %q %v", round, c.Data, err)
			}
			_ = run.Close()
		}
		_ = root.Close()
	}
}

// TestHardLinksThatBecomeProtected: what was read is not fresh when one of its
// names has become protected since, though the file itself hasn't changed.
func TestHardLinksThatBecomeProtected(t *testing.T) {
	for name, change := range map[string][2]string{
		"the directory is renamed":    {"d", ".ssh"},
		"the directory above":         {"up", "deep/.git"},
		"the file":                    {"d/x", "d/x.pem"},
		"nothing that matters":        {"other", "renamed"},
		"into what is protected":      {"d", "deep/.gnupg/d"},
		"the other way, by its names": {"deep/.gnupg", "open"},
	} {
		for _, units := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, units %v", name, units), func(t *testing.T) {
				dir := vfstest.Build(t, []string{"AGENTS.md = x", "d/x => AGENTS.md", "up/config => AGENTS.md", "other/x = x", "deep/.gnupg/x = x", "plain = x"})
				config := everything(dir)
				config.Options.Now = old
				root, filter, run := begin(t, config)
				if units {
					if _, err := run.BeginUnit("key", 100); err != nil {
						t.Fatal(err)
					}
				}
				c, err := run.Content("AGENTS.md")
				if err != nil || string(c.Data) != "x" {
					t.Fatalf("at first: %q %v", c.Data, err)
				}
				if units {
					if err := run.EndUnit([]byte("value")); err != nil {
						t.Fatal(err)
					}
				}
				known := run.Units()
				if f := root.CheckUnits(filter, known); !f.Fresh {
					t.Fatalf("not fresh at once: %s", f.Changed)
				}
				if err := os.Rename(filepath.Join(dir, change[0]), filepath.Join(dir, change[1])); err != nil {
					t.Fatal(err)
				}
				_, _, clean := begin(t, config)
				_, err = clean.Content("AGENTS.md")
				f := root.CheckUnits(filter, known)
				if (err == nil) != f.Fresh {
					t.Errorf("a clean run says %v, the check %+v", err, f)
				}
				if units && err != nil && f.Units.Len() != 0 {
					t.Error("the unit that read it is remembered")
				}
			})
		}
	}
}

// TestTooMuchToSearch: where not all can be compared a file with several names
// is refused, and only such a one; what packages and git's objects hold doesn't
// count.
func TestTooMuchToSearch(t *testing.T) {
	if testing.Short() {
		t.Skip("makes 100,000 files")
	}
	dir := vfstest.Build(t, []string{"AGENTS.md = x", "d/twin => AGENTS.md", "CLAUDE.md = y", "node_modules/", ".git/objects/ab/"})
	fill := func(dir string, n int) {
		t.Helper()
		first := filepath.Join(dir, "first")
		if err := os.WriteFile(first, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		for i := range n {
			if err := os.Link(first, filepath.Join(dir, fmt.Sprint(i))); err != nil {
				t.Skip(err) // a file system that bounds links to one file
			}
		}
	}
	look := func(want error) {
		t.Helper()
		_, _, run := begin(t, everything(dir))
		c, err := run.Content("AGENTS.md")
		if !errors.Is(err, want) || want == nil && (err != nil || string(c.Data) != "x") || want != nil && c.Data != nil {
			t.Errorf("%q %v %v, want %v", c.Data, c.Class, err, want)
		}
		if want != nil && (c.Class != vfs.ContentUnreadable || len(run.Denied()) != 1 || run.Denied()[0].Reason != vfs.ReasonManyNames) {
			t.Errorf("%v %+v", c.Class, run.Denied())
		}
		if c, err := run.Content("CLAUDE.md"); err != nil || string(c.Data) != "y" {
			t.Errorf("a file of one name: %q %v", c.Data, err)
		}
	}
	fill(filepath.Join(dir, "node_modules"), 25_000)
	fill(filepath.Join(dir, ".git/objects/ab"), 25_000)
	look(nil)
	for i := range 4 {
		sub := filepath.Join(dir, fmt.Sprint("sub", i))
		if err := os.Mkdir(sub, 0o700); err != nil {
			t.Fatal(err)
		}
		fill(sub, 25_001)
	}
	look(vfs.ErrManyNames)
}
