package vfs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"waymark/host/vfs"
	"waymark/test/contracts/vfstest"
	"waymark/test/testenv"
)

func openProjects(t *testing.T, dir string, opts vfs.RootOptions) *vfs.Root {
	t.Helper()
	root, err := vfs.OpenRoot(dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return root
}

// TestProjects: a directory at the top with a .git is a project; what leads elsewhere, is
// hidden or excluded isn't.
func TestProjects(t *testing.T) {
	dir := vfstest.Build(t, []string{
		"a/.git/HEAD = x", "b/.git = gitdir: x", "c/AGENTS.md = x", "d/.git -> ../a/.git", "e/.git |", "link -> a", "file = x",
		".hidden/.git/HEAD = x", "node_modules/.git/HEAD = x", "excluded/.git/HEAD = x", "z/deep/.git/HEAD = x", ".git/HEAD = x", `back\slash/.git/HEAD = x`,
	})
	root := openProjects(t, dir, vfs.RootOptions{Exclude: []string{"excluded"}})
	got, err := root.Projects(100)
	if err != nil || !slices.Equal(got.Names, []string{"a", "b"}) || !slices.Equal(got.Looked, []string{"a", "b", "c", "d", "e", "z"}) || got.More != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := root.Projects(1); err != nil || !slices.Equal(got.Names, []string{"a"}) || !slices.Equal(got.Looked, []string{"a"}) || got.More != 5 {
		t.Errorf("%+v, %v", got, err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if got, _ := root.Projects(100); len(got.Names) > 0 {
		t.Errorf("of a root that is gone: %+v", got)
	}
}

// TestAnything: a file that a view shows is there, or a directory in which its patterns
// leave a name open; nothing else is looked for.
func TestAnything(t *testing.T) {
	view := vfs.View{Reads: []string{".a/AGENTS.md", ".config/x/rules.md", ".config/y/*.md", ".s/.env"}}
	for _, tt := range []struct {
		tree []string
		want bool
	}{
		{[]string{"AGENTS.md = x", ".b/AGENTS.md = x", ".config/z/rules.md = x", ".config/x/other = y", ".a/"}, false},
		{[]string{".a/AGENTS.md = x"}, true},
		{[]string{".config/x/rules.md = x"}, true},
		{[]string{".config/y/"}, true},
		{[]string{".config -> elsewhere"}, true},
		{[]string{".s/.env = secret"}, false},
	} {
		filter, err := view.Compile()
		if err != nil {
			t.Fatal(err)
		}
		got, trace := openProjects(t, vfstest.Build(t, tt.tree), vfs.RootOptions{}).Anything(filter)
		if got != tt.want || len(trace) == 0 {
			t.Errorf("%q: %v, with a trace of %d", tt.tree, got, len(trace))
		}
	}
}

// TestBelow: a view with directories shows of each what the same patterns, written out for
// it, show, and hides the same.
func TestBelow(t *testing.T) {
	r := testenv.Rand(t)
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	shown := 0
	for range testenv.Rounds(25, 500, 5000) {
		var lines []string
		seen := map[string]bool{}
		for range 25 {
			path := pick("a", "b", "c", ".x")
			for range 1 + r.IntN(3) {
				path += "/" + pick("a", "b", "x.md", "AGENTS.md", ".env", "skills", ".mcp.json")
			}
			if r.IntN(4) == 0 {
				path = pick("AGENTS.md", "x.md", ".env")
			}
			if !seen[path] {
				seen[path] = true
				lines = append(lines, path)
			}
		}
		dir := t.TempDir()
		for _, path := range lines {
			full := filepath.Join(dir, path)
			if os.MkdirAll(filepath.Dir(full), 0o700) == nil {
				_ = os.WriteFile(full, []byte("x"), 0o600)
			}
		}
		patterns := []string{pick("AGENTS.md", "*.md", "**/x.md", "a/*"), pick("skills/*/AGENTS.md", "a/**", "b/x.md", ".env"), pick("{a,b}/AGENTS.md", "a", "?/b")}
		below := []string{"a", "b"}[:1+r.IntN(2)]
		view := vfs.View{Reads: patterns, Below: below}
		written := vfs.View{Reads: slices.Clone(patterns)}
		for _, name := range below {
			for _, p := range patterns {
				written.Reads = append(written.Reads, name+"/"+p)
			}
		}
		if r.IntN(3) == 0 {
			view.Narrow = []string{"**/*.md", "AGENTS.md"}
			written.Narrow = slices.Clone(view.Narrow)
			for _, name := range below {
				written.Narrow = append(written.Narrow, name+"/**/*.md", name+"/AGENTS.md")
			}
		}
		root := openProjects(t, dir, vfs.RootOptions{Exclude: []string{pick("none", "a/b", "b")}})
		got, want := everythingSeen(t, root, view), everythingSeen(t, root, written)
		if got != want {
			t.Fatalf("%q below %q\ngot\n%s\nwant\n%s", patterns, below, got, want)
		}
		shown += strings.Count(got, "\n")
	}
	if shown == 0 {
		t.Error("nothing was ever seen")
	}
}

// everythingSeen lists what a view shows: listings, and the names that could be in them.
func everythingSeen(t *testing.T, root *vfs.Root, view vfs.View) string {
	t.Helper()
	filter, err := view.Compile()
	if err != nil {
		t.Fatal(err)
	}
	run := root.Begin(filter, vfs.Limits{})
	defer func() { _ = run.Close() }()
	var b strings.Builder
	var walk func(dir string)
	walk = func(dir string) {
		f, err := run.Open(dir)
		if err != nil {
			fmt.Fprintln(&b, dir, err)
			return
		}
		if !f.IsDir() {
			fmt.Fprintln(&b, dir)
			return
		}
		entries, err := f.ReadDir()
		names, globs, all := root.Names(filter, dir)
		if all {
			names, globs = nil, nil
		}
		fmt.Fprintln(&b, dir, len(entries), err, names, globs, all)
		for _, e := range entries {
			walk(filepath.Join(dir, e.Name))
		}
	}
	walk(".")
	return b.String()
}
