package vfs_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waymark/host/vfs"
	"waymark/test/contracts/vfstest"
)

// existing says in a word what Exists answers.
func existing(run *vfs.Run, name string) string {
	switch err := run.Exists(name); {
	case err == nil:
		return "yes"
	case errors.Is(err, vfs.ErrHidden):
		return "hidden"
	case errors.Is(err, vfs.ErrEscape):
		return "escapes"
	case errors.Is(err, vfs.ErrLimit):
		return "limit"
	case errors.Is(err, fs.ErrNotExist):
		return "no"
	default:
		return errno(err)
	}
}

// TestExists: of what no resolver may see the answer is the same whether it is there or
// not, and nothing of what a view doesn't show becomes visible.
func TestExists(t *testing.T) {
	dir := vfstest.Build(t, []string{
		"a.md = a", "docs/b.md = b", "in -> docs", "out -> ../out/x", "broken -> nowhere", "key -> .ssh/id_rsa",
		".ssh/id_rsa = k", ".mcp.json = {}", "private/x.md = x",
	})
	config := vfstest.Config{Dir: dir, View: vfs.View{Reads: []string{"a.md"}}, Options: vfs.RootOptions{Exclude: []string{"private"}}}
	_, _, run := begin(t, config)
	for name, want := range map[string]string{
		"a.md": "yes", "docs/b.md": "yes", "docs": "yes", "docs/": "yes", "in/b.md": "yes", "docs/c.md": "no", "x/y.md": "no",
		"a.md/": "ENOTDIR", "a.md/b": "ENOTDIR", "out": "escapes", "broken": "no", "in/c.md": "no", "../x": "EPERM", "/x": "EPERM",
		".ssh/id_rsa": "hidden", ".ssh/other": "hidden", "key": "hidden", ".mcp.json": "hidden", ".env": "hidden",
		"private/x.md": "hidden", "private/y.md": "hidden",
	} {
		if got := existing(run, name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if _, err := run.Stat("docs/b.md"); !errors.Is(err, vfs.ErrHidden) {
		t.Errorf("the resolver may look at it now: %v", err)
	}
	if used := run.Usage(); used.Entries > 1 || used.Opens > 0 {
		t.Errorf("it was charged to the run: %+v", used)
	}
}

// TestExistsIsTraced: a trace is stale once another answer would be given, and not when
// what is there is written.
func TestExistsIsTraced(t *testing.T) {
	dir := vfstest.Build(t, []string{"docs/b.md = b", "in -> docs"})
	for _, c := range []struct {
		name   string
		change func(path func(string) string) error
		fresh  bool
	}{
		{"docs/b.md", func(path func(string) string) error { return os.WriteFile(path("docs/b.md"), []byte("longer"), 0o600) }, true},
		{"docs/c.md", func(path func(string) string) error { return os.WriteFile(path("docs/c.md"), nil, 0o600) }, false},
		{"new/c.md", func(path func(string) string) error { return os.Mkdir(path("new"), 0o700) }, false},
		{"in/b.md", func(path func(string) string) error { return os.Remove(path("in")) }, false},
		{"docs/b.md", func(path func(string) string) error { return os.Remove(path("docs/b.md")) }, false},
	} {
		root, filter, run := begin(t, vfstest.Config{Dir: dir})
		_ = run.Exists(c.name)
		trace := run.Trace()
		if f := root.Check(filter, trace); !f.Fresh {
			t.Fatalf("%s: not fresh at once: %s", c.name, f.Changed)
		}
		if err := c.change(func(name string) string { return filepath.Join(dir, name) }); err != nil {
			t.Fatal(err)
		}
		if f := root.Check(filter, trace); f.Fresh != c.fresh {
			t.Errorf("%s: fresh %v, want %v; trace %+v", c.name, f.Fresh, c.fresh, trace)
		}
	}
}

// TestExistsIsBounded: whoever writes the names can't end the run with them.
func TestExistsIsBounded(t *testing.T) {
	lines := []string{"a.md = a"}
	for i := range 38 { // each link doubles the names on the way
		lines = append(lines, fmt.Sprintf("l%d -> %s", i, strings.Repeat("./", 50)+fmt.Sprintf("l%d", i+1)))
	}
	_, _, run := begin(t, vfstest.Config{Dir: vfstest.Build(t, lines), View: vfs.View{Reads: []string{"a.md"}}, Limits: vfs.Limits{Entries: 3}})
	limit := false
	for i := range 20_000 {
		name := "l0/x"
		if i%2 == 0 {
			name = fmt.Sprint("d/", i)
		}
		limit = existing(run, name) == "limit" || limit
	}
	if !limit {
		t.Error("there is no limit")
	}
	if _, err := run.Stat("a.md"); err != nil || run.Err() != nil {
		t.Errorf("the run has ended: %v, %v", err, run.Err())
	}
}

// TestOwn: the agent's own places don't exist for a resolver that reads everything, by
// whatever name, and no link in a workspace makes one of them a root.
func TestOwn(t *testing.T) {
	dir := vfstest.Build(t, []string{
		"a = a", "o[w]n/file = x", "o[w]n/deep/file = x", "conf.toml = x", "to -> o[w]n", "tofile -> o[w]n/file", "toconf -> conf.toml", "w/link -> ../o[w]n/deep",
	})
	options := vfs.RootOptions{Own: []string{dir + "/o[w]n", dir + "/conf.toml", dir + "/later", "/elsewhere"}}
	plain, err := vfs.OpenRoot(dir, vfs.RootOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	root, _, run := begin(t, vfstest.Config{Dir: dir, View: vfs.View{Reads: []string{"**"}, MCPOnly: true}, Options: options})
	if root.Signature() == plain.Signature() {
		t.Error("what was remembered of a root without these places would be used in this one")
	}
	for name, want := range map[string]string{
		"a": "yes", "o[w]n": "hidden", "o[w]n/file": "hidden", "o[w]n/none": "hidden", "conf.toml": "hidden", "later": "hidden",
		"to": "hidden", "to/deep/file": "hidden", "tofile": "hidden", "toconf": "hidden", "w/link/file": "hidden",
	} {
		if got := existing(run, name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
		if _, err := run.Open(name); (err == nil) != (want == "yes") {
			t.Errorf("%s can be opened, or not: %v", name, err)
		}
	}
	options.Within = []string{dir}
	for path, want := range map[string]bool{"w/link": false, "to": false, "w": true, "o[w]n": true} { // the last is what its owner has named
		other, err := vfs.OpenRoot(filepath.Join(dir, path), options)
		if (err == nil) != want || err != nil && !errors.Is(err, vfs.ErrHidden) {
			t.Errorf("the root %s: %v", path, err)
		}
		_ = other.Close()
	}
}
