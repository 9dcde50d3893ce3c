package built_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"waymark/host/sandbox/codecache"
	"waymark/test/built"
)

// Code of another version must not be taken for this one's.
func TestWazero(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Version}}{{with .Replace}} replaced{{end}}", "github.com/tetratelabs/wazero").Output()
	if err != nil {
		t.Fatal(err)
	}
	if version := strings.TrimSpace(string(out)); version != codecache.Wazero {
		t.Errorf("go.mod names %s, what was compiled is shared as that of %s", version, codecache.Wazero)
	}
}

// source is a module with a program that depends on a package, which embeds a file.
var source = map[string]string{
	"go.mod":           "module example\n\ngo 1.26\n",
	"go.sum":           "",
	"main/main.go":     "package main\n\nimport \"example/said\"\n\nfunc main() { print(said.Text) }\n",
	"said/said.go":     "package said\n\nimport _ \"embed\"\n\n//go:embed texts/a.txt\nvar Text string\n",
	"said/texts/a.txt": "one",
	"other/other.go":   "package other\n",
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// says builds the program and returns what it prints.
func says(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := built.Programs(t.Context(), dir, false, "example/main"); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), filepath.Join(dir, "main")).CombinedOutput()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestSource: a program is built again when anything has changed that it is made from, and
// for nothing else; and what it was before isn't built again.
func TestSource(t *testing.T) {
	cache, dir := t.TempDir(), t.TempDir()
	t.Setenv(built.EnvCache, cache)
	for name, text := range source {
		put(t, dir, name, text)
	}
	t.Chdir(dir)
	results := func() int {
		t.Helper()
		all, err := filepath.Glob(filepath.Join(cache, "main-*-????????????????"))
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	for _, c := range []struct {
		change, text string
		says         string
		results      int
	}{
		{"other/other.go", "package other\n", "one", 1},
		{"other/other.go", "package other\n\nvar Changed = 1\n", "one", 1},
		{"main/main_test.go", "package main\n", "one", 1},
		{"said/texts/a.txt", "two", "two", 2},
		{"said/said.go", "package said\n\nconst Text = \"three\"\n", "three", 3},
		{"other/other.go", "package other\n\nvar Text = \"four\"\n", "three", 3},
		{"main/main.go", "package main\n\nimport \"example/other\"\n\nfunc main() { print(other.Text) }\n", "four", 4},
		{"other/other.go", "package other\n\nvar Text = \"five\"\n", "five", 5},
		{"main/more.go", "package main\n\nfunc init() { print(\"six \") }\n", "six five", 6},
		{"main/more.go", "package main\n", "five", 7},
		{"other/other.go", "package other\n\nvar Text = \"four\"\n", "four", 8},
		{"other/other.go", "package other\n\nvar Text = \"five\"\n", "five", 8},
	} {
		put(t, dir, c.change, c.text)
		if got := says(t); got != c.says {
			t.Errorf("after a change of %s it says %q, want %q", c.change, got, c.says)
		}
		if n := results(); n != c.results {
			t.Errorf("after a change of %s there are %d results, want %d", c.change, n, c.results)
		}
	}
}

// TestCached: go test repeats its result until what the program under test is made from
// has changed.
func TestCached(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles this module once more, as a dependency of another")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(built.EnvCache, t.TempDir())
	dir := t.TempDir()
	for name, text := range source {
		put(t, dir, name, text)
	}
	put(t, dir, "go.mod", "module example\n\ngo 1.26\n\nrequire waymark v0.0.0\n\nreplace waymark => "+root+"\n")
	put(t, dir, "it/it_test.go", "package it\n\nimport (\n\t\"testing\"\n\n\t\"waymark/test/built\"\n)\n\nfunc TestIt(t *testing.T) {\n"+
		"\tif err := built.Programs(t.Context(), t.TempDir(), false, \"example/main\"); err != nil {\n\t\tt.Fatal(err)\n\t}\n}\n")
	cached := func() bool {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "go", "test", "./it")
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS=-mod=mod -trimpath")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return strings.Contains(string(out), "(cached)")
	}
	// Go doesn't trust the times of files that are younger than two seconds.
	age := func() {
		for _, where := range []string{dir, os.Getenv(built.EnvCache)} {
			if out, err := exec.CommandContext(t.Context(), "find", where, "-exec", "touch", "-d", "2001-02-03 04:05:06", "{}", "+").CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		}
	}
	cached() // once, since it completes go.mod and builds
	age()
	cached()
	age()
	if !cached() {
		t.Error("the second result isn't repeated")
	}
	put(t, dir, "other/other.go", "package other\n\nvar Changed = 1\n")
	age()
	if !cached() {
		t.Error("what it isn't built from counts")
	}
	put(t, dir, "said/texts/a.txt", "more")
	age()
	if cached() {
		t.Error("a change isn't noticed")
	}
}

func TestGuest(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(built.EnvCache, dir)
	const pkg = "waymark/host/resolve/testdata/flaky"
	var wg sync.WaitGroup
	paths := make([]string, 4)
	for i := range paths {
		wg.Go(func() {
			var err error
			if paths[i], err = built.Guest(t.Context(), pkg); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, p := range paths[1:] {
		if p != paths[0] {
			t.Errorf("two builds gave %s and %s", paths[0], p)
		}
	}
	wasm, err := os.ReadFile(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(wasm, []byte("\x00asm\x01\x00\x00\x00")) {
		t.Errorf("%s isn't a wasm module", paths[0])
	}
	if wd, _ := os.Getwd(); bytes.Contains(wasm, []byte(filepath.Dir(wd))) {
		t.Error("the module holds a path of this machine")
	}
	if err := os.Remove(paths[0]); err != nil {
		t.Fatal(err)
	}
	again, err := built.Guest(t.Context(), pkg)
	if err != nil || again != paths[0] {
		t.Errorf("after the file was removed: %s, %v; want the same name", again, err)
	}
	if rebuilt, err := os.ReadFile(again); err != nil || !bytes.Equal(rebuilt, wasm) {
		t.Errorf("a second build differs (%v)", err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "building-*")); err != nil || len(left) != 0 {
		t.Errorf("it has left %v, %v", left, err)
	}
}

func TestFails(t *testing.T) {
	t.Setenv(built.EnvCache, t.TempDir())
	_, err := built.Guest(t.Context(), "waymark/plugins/no-such-guest")
	if err == nil || !strings.Contains(err.Error(), "no-such-guest") {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := built.Guest(ctx, "waymark/plugins/another"); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}
