package sources_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// module is a module with a test that depends on a program, of which it only
// knows by See.
var module = map[string]string{
	"go.mod":          "module example\n\ngo 1.26\n\nrequire waymark v0.0.0\n\nreplace waymark => WAYMARK\n",
	"main.go":         "package main\n\nimport \"example/said\"\n\nfunc main() { println(said.Text) }\n",
	"said/said.go":    "package said\n\nconst Text = \"one\"\n",
	"it/it.go":        "package it\n",
	"it/it_test.go":   "package it\n\nimport (\n\t\"testing\"\n\n\t\"waymark/test/sources\"\n)\n\nfunc TestIt(t *testing.T) {\n\tif err := sources.See(t.Context(), nil, \"example\"); err != nil {\n\t\tt.Fatal(err)\n\t}\n}\n",
	"other/other.go":  "package other\n",
	"said/text.embed": "text\n",
}

// TestSee: a result is repeated until what the test has seen changes.
func TestSee(t *testing.T) {
	dir := t.TempDir()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	put := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "WAYMARK", root)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range module {
		put(name, text)
	}
	cached := func() bool {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "go", "test", "./it")
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS=-mod=mod")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return strings.Contains(string(out), "(cached)")
	}
	// Go doesn't trust the times of files that are younger than two seconds.
	const old = "2001-02-03 04:05:06"
	age := func() {
		for name := range module {
			if out, err := exec.CommandContext(t.Context(), "touch", "-d", old, filepath.Join(dir, name)).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		}
	}
	cached() // once, since it completes go.mod
	age()
	if cached() {
		t.Error("the first result is a repeated one")
	}
	if !cached() {
		t.Error("the second result isn't")
	}
	put("other/other.go", "package other\n\nvar Changed = 1\n")
	age()
	if !cached() {
		t.Error("what it isn't built from counts")
	}
	put("said/said.go", "package said\n\nconst Text = \"another\"\n")
	age()
	if cached() {
		t.Error("a change isn't noticed")
	}
}
