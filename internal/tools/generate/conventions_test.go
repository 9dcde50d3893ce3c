package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waymark/plugins/conventions"
)

// TestPageIsCurrent: what is in the documentation is what the table says.
func TestPageIsCurrent(t *testing.T) {
	page, err := render(conventions.Agents, conventions.All)
	if err != nil {
		t.Fatal(err)
	}
	old, err := os.ReadFile("../../../docs/conventions.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(old) != string(page) {
		t.Error("docs/conventions.md is not what the table says: run make generate")
	}
}

// TestPageSaysAll: every row stands under each of its readers and in the list, and
// every reader in the index.
func TestPageSaysAll(t *testing.T) {
	page, err := render(conventions.Agents, conventions.All)
	if err != nil {
		t.Fatal(err)
	}
	text := string(page)
	for _, c := range conventions.All {
		if n := strings.Count(text, "| `"+c.ID+"` |\n"); n != len(c.Readers) {
			t.Errorf("%s stands under %d readers, want %d", c.ID, n, len(c.Readers))
		}
		if n := strings.Count(text, "\n| `"+c.ID+"` |"); n != 1 {
			t.Errorf("%s stands %d times in the list", c.ID, n)
		}
	}
	for _, a := range conventions.Agents {
		if !strings.Contains(text, "\n## "+a.Name+"\n") || !strings.Contains(text, "["+a.Name+"]("+anchor(a.Name)+")") {
			t.Errorf("%s has no section, or isn't in the index", a.Name)
		}
	}
}

// TestApplies: the sentences about when something applies.
func TestApplies(t *testing.T) {
	want := map[string]string{
		"agents-md": "always", "roorules-mode": "manual", "claude-settings": "",
		"claude-rules":   "to the globs of `paths`; else always",
		"cursor-rules":   "always where `alwaysApply` is true; to the globs of `globs`; model where there is a description; else manual",
		"windsurf-rules": "`trigger`: `always_on` always, `glob` glob, `manual` manual, `model_decision` model; to the globs of `globs`; else always",
	}
	for _, c := range conventions.All {
		if w, ok := want[c.ID]; ok && applies(c) != w {
			t.Errorf("%s: %q, want %q", c.ID, applies(c), w)
		}
	}
}

// TestWrite: a page that is the same is left alone, another replaced.
func TestWrite(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.md")
	for _, text := range []string{"one", "one", "two"} {
		if err := write(file, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != text {
			t.Errorf("%q, %v", got, err)
		}
	}
}
