package host_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waymark/host"
	"waymark/host/resolve"
	"waymark/test/contracts/vfstest"
)

// skillsOf is the outcome of the resolver of skills.
func skillsOf(t *testing.T, r *host.Report) resolve.Outcome {
	t.Helper()
	for _, o := range r.Outcomes {
		if strings.HasSuffix(o.Resolver, "/context") {
			return o
		}
	}
	t.Fatal("there is no resolver of skills")
	return resolve.Outcome{}
}

// TestEditBelowTheHead: what a resolver doesn't read of a file is taken over without
// running it, also by a process that has only read of it what another one left; what it
// reads isn't.
func TestEditBelowTheHead(t *testing.T) {
	noLeaks(t)
	dir := vfstest.Build(t, []string{"skills/a/SKILL.md = x", "skills/b/SKILL.md = x", "AGENTS.md = x"})
	path := filepath.Join(dir, "skills/a/SKILL.md")
	text := func(name, last string) string {
		return "---\nname: " + name + "\ndescription: d\n---\n" + strings.Repeat("text\n", 1500) + last
	}
	put(t, path, text("a", "one"))
	put(t, filepath.Join(dir, "skills/b/SKILL.md"), text("b", ""))
	memos := filepath.Join(t.TempDir(), "memos")
	opts := host.Options{Builtin: module(builtin(t)), Roots: []host.RootSpec{{Path: dir}}, MemoDir: memos, KeyDir: sharedKey(t, memos+".key")}
	h := newHost(t, opts)
	refresh(t, h)
	for _, step := range []struct {
		what, text string
		run        bool
		warnings   int
	}{
		{"its end", text("a", "two"), false, 0},
		{"more at its end", text("a", "three and more"), false, 0},
		{"its name", text("b", "three and more"), true, 0},
		{"its name again", text("a", "three and more"), true, 0},
		{"less at its end", text("a", ""), false, 0},
		{"a restart", text("a", "four"), false, 0},
		{"what is warned of", text("a", "\u202e"), true, 1},
		{"that once more", text("a", "x\u202e"), true, 1},
		{"nothing to be warned of", text("a", "five"), true, 0},
		{"shorter than the head", text("a", "five")[:1000], true, 0},
		{"and longer", text("a", "six"), true, 0},
		{"too large", text("a", strings.Repeat("x", 300_000)), true, 0},
	} {
		if step.what == "a restart" {
			if err := h.Close(); err != nil {
				t.Fatal(err)
			}
			h = newHost(t, opts)
		}
		put(t, path, step.text)
		r := refresh(t, h)
		o := skillsOf(t, r)
		if o.Reused == step.run || o.Rewritten == step.run || o.Changed != "skills/a/SKILL.md" || len(o.Warnings) != step.warnings {
			t.Errorf("%s: reused %v, rewritten %v, changed %q, warnings %q", step.what, o.Reused, o.Rewritten, o.Changed, o.Warnings)
		}
		found := r.Snapshot.Find("skill:" + filepath.Join(dir, "skills/a"))
		switch {
		case found == nil:
			t.Fatalf("%s: it is gone", step.what)
		case found.SizeBytes != int64(len(step.text)) || found.Payload != nil && string(found.Payload) != step.text:
			t.Errorf("%s: %d bytes, %.40q", step.what, found.SizeBytes, found.Payload)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if o := skillsOf(t, refresh(t, h)); o.Reused || len(o.Candidates) != 2 {
		t.Errorf("without it: reused %v, %d finds", o.Reused, len(o.Candidates))
	}
}
