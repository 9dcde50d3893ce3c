package why_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"waymark/host/vfs"
	"waymark/host/why"
)

// TestNothingIsKnown: before the first resolve there are answers, too.
func TestNothingIsKnown(t *testing.T) {
	for path, want := range map[string]why.Reason{
		"/": why.ReasonOutsideRoots, "/etc/passwd": why.ReasonOutsideRoots, "": why.ReasonOutsideRoots, "AGENTS.md": why.ReasonOutsideRoots,
		"/a\x00": why.ReasonMissing, "/" + strings.Repeat("x", 10<<20): why.ReasonMissing,
	} {
		a := why.Explain(why.Input{}, path)
		if a.Reason != want || a.Found || a.Detail == "" || a.Path != path {
			t.Errorf("%.20q: %s %s", path, a.Reason, a.Detail)
		}
	}
}

// TestAfterTheEnd: with closed roots nothing can be looked at any more. What
// was observed is still known.
func TestAfterTheEnd(t *testing.T) {
	w := fuzzWorld()
	dir, in := w.build(t)
	for _, r := range in.Roots {
		if err := r.FS.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]why.Reason{
		"AGENTS.md": why.ReasonFound, "CLAUDE.md": why.ReasonCollapsedInto, ".env": why.ReasonHiddenSecret, "x": why.ReasonNotAKnownPlace, ".cursorrules": why.ReasonUnreadable,
	} {
		if a := why.Explain(in, filepath.Join(dir, path)); a.Reason != want {
			t.Errorf("%s: %s: %s", path, a.Reason, a.Detail)
		}
	}
}

// TestManyAsk: questions may be asked at the same time.
func TestManyAsk(t *testing.T) {
	w := fuzzWorld()
	dir, in := w.build(t)
	var g sync.WaitGroup
	for range 4 {
		g.Go(func() {
			for _, path := range []string{"AGENTS.md", "skills/one/SKILL.md", "sub/agents.md", ".agents/skills/two", "nothing"} {
				checkAnswer(t, in, why.Explain(in, filepath.Join(dir, path)))
			}
		})
	}
	g.Wait()
}

// TestLargeTrace: a trace as long as a run may make it, and directories with
// many names, are looked through once and not for every name.
func TestLargeTrace(t *testing.T) {
	w := fuzzWorld()
	dir, in := w.build(t)
	run := &in.Runs[slices.IndexFunc(in.Runs, func(r why.Run) bool { return len(r.Candidates) > 0 })]
	for i := range 200_000 {
		run.Trace = append(run.Trace, vfs.Dep{Kind: vfs.DepMissing, Path: "skills/" + letters(i) + "/SKILL.md"})
	}
	for range 1000 {
		run.Candidates = append(run.Candidates, run.Candidates[0])
	}
	deep := strings.Repeat("skills/", 400)
	put(t, dir, deep+"AGENTS.md", "x")
	for path, want := range map[string]why.Reason{
		"skills/one/SKILL.md": why.ReasonFound, deep + "AGENTS.md": why.ReasonNested, deep + "x": why.ReasonMissing, "skills/ba/SKILL.md": why.ReasonMissing,
	} {
		if a := why.Explain(in, filepath.Join(dir, path)); a.Reason != want {
			t.Errorf("%.40s: %s: %s", path, a.Reason, a.Detail)
		}
	}
}

// letters names a number.
func letters(i int) string {
	s := string(rune('a' + i%26))
	for i /= 26; i > 0; i /= 26 {
		s += string(rune('a' + i%26))
	}
	return s
}

// TestOnlyASnapshot: what is listed is found, even if nobody remembers how.
func TestOnlyASnapshot(t *testing.T) {
	w := fuzzWorld()
	dir, in := w.build(t)
	in.Runs, in.Notes = nil, nil
	for path, want := range map[string]why.Reason{
		"AGENTS.md": why.ReasonFound, "CLAUDE.md": why.ReasonCollapsedInto, "skills/one": why.ReasonFound, ".cursorrules": why.ReasonUnreadable, "sub": why.ReasonNotAKnownPlace,
	} {
		a := why.Explain(in, filepath.Join(dir, path))
		if a.Reason != want || a.Root != dir {
			t.Errorf("%s: %+v", path, a)
		}
	}
	in.Snapshot = nil
	if a := why.Explain(in, dir); a.Reason != why.ReasonNotAKnownPlace || a.Root != dir {
		t.Errorf("without a snapshot: %+v", a)
	}
}

// TestTopOfTheFileSystem: a root may be that, too.
func TestTopOfTheFileSystem(t *testing.T) {
	root, err := vfs.OpenRoot("/", vfs.RootOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	in := why.Input{Roots: []why.Root{{FS: root}}}
	for path, want := range map[string]why.Reason{"/": why.ReasonNotAKnownPlace, "/dev/null": why.ReasonNotRegular, "/none": why.ReasonMissing, "/dev": why.ReasonNotAKnownPlace} {
		if a := why.Explain(in, path); a.Reason != want || a.Root != "/" {
			t.Errorf("%s: %+v", path, a)
		}
	}
}

// TestCrowdedDirectory: in a directory with very many names, one in another
// case isn't searched.
func TestCrowdedDirectory(t *testing.T) {
	w := world{tree: []string{"agents.md = a", "few/x.md = x"}}
	dir, in := w.build(t)
	ask{"few/X.md", why.ReasonWrongCase, false, "", "only few/x.md"}.check(t, dir, in)
	for i := range 20_001 {
		// Another name costs less than another file.
		if err := os.Link(filepath.Join(dir, "few/x.md"), filepath.Join(dir, "n"+letters(i))); err != nil {
			t.Fatal(err)
		}
	}
	ask{"AGENTS.md", why.ReasonMissing, false, "", "waymark/context looks for it"}.check(t, dir, in)
}

// TestForgottenDenials: a run remembers a hundred of them. What it would be
// told now is as good.
func TestForgottenDenials(t *testing.T) {
	w := world{tree: []string{".env = " + secret, "AGENTS.md -> .env", "CLAUDE.md -> .mcp.json", ".mcp.json = {}"}}
	dir, in := w.build(t)
	for i := range in.Runs {
		in.Runs[i].Denied = nil
	}
	ask{"AGENTS.md", why.ReasonHiddenSecret, false, "", "leads to .env"}.check(t, dir, in)
	ask{"CLAUDE.md", why.ReasonNotGranted, false, "", "leads to .mcp.json"}.check(t, dir, in)
}

// TestLongError: what a resolver says of itself is cut to a line.
func TestLongError(t *testing.T) {
	w := world{tree: []string{"AGENTS.md = a"}, disable: []string{"skills", "mcp-config"}}
	dir, in := w.build(t)
	in.Runs[0].Candidates, in.Runs[0].Err = nil, errors.New(strings.Repeat("é\n\x1b", 5000))
	in.Snapshot.Resources = nil
	ask{"AGENTS.md", why.ReasonResolverFailed, false, "", "failed in this root: é"}.check(t, dir, in)
}
