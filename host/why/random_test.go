package why_test

import (
	"bytes"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"waymark/abi"
	"waymark/host/resolve"
	"waymark/host/why"
	"waymark/snapshot"
	"waymark/test/testenv"
)

// TestRandomTrees: whatever a tree looks like, the answers fit the snapshot
// and the notes.
func TestRandomTrees(t *testing.T) { randomTrees(t) }

// TestRandomTreesOfOrdinaryUser is the same where permissions count.
func TestRandomTreesOfOrdinaryUser(t *testing.T) { testenv.RunOrdinary(t, randomTrees) }

func randomTrees(t *testing.T) {
	g := generator{testenv.Rand(t)}
	for range testenv.Rounds(15, 60, 2000) {
		w := g.world()
		dir, in := w.build(t)
		checkResources(t, in)
		checkNotes(t, in)
		checkTree(t, dir, in)
		if t.Failed() {
			t.Logf("tree %q\nroots %v\nresources %q\nnotes %+v", w.tree, w.roots, ids(in, dir), in.Notes)
			return
		}
	}
}

// fits reports whether a reason can be a status's.
func fits(s snapshot.Status, r why.Reason) bool {
	switch s {
	case snapshot.StatusOK:
		return r == why.ReasonFound
	case snapshot.StatusUnreadable:
		return r == why.ReasonUnreadable || r == why.ReasonLinkBroken || r == why.ReasonNotRegular
	case snapshot.StatusInvalid:
		return r == why.ReasonInvalid || r == why.ReasonLinkEscapes
	}
	return string(r) == string(s)
}

// checkResources asks for the source of every resource, and for its content.
func checkResources(t *testing.T, in why.Input) {
	t.Helper()
	for i := range in.Snapshot.Resources {
		r := &in.Snapshot.Resources[i]
		paths := []string{r.Source}
		unlisted := slices.ContainsFunc(in.Runs, func(run why.Run) bool {
			return slices.ContainsFunc(run.Candidates, func(o snapshot.Candidate) bool {
				return o.ID() == r.ID() && strings.HasPrefix(o.Error, "the directory can't be listed")
			})
		})
		if r.Kind == abi.KindSkill && !unlisted { // no skill is known of a directory that isn't listed
			paths = append(paths, filepath.Join(r.Source, "SKILL.md"))
		}
		for _, path := range paths {
			// A find's file can be what another find is about.
			alone := !slices.ContainsFunc(in.Runs, func(run why.Run) bool {
				return slices.ContainsFunc(run.Candidates, func(o snapshot.Candidate) bool {
					return (o.Source == r.Source || o.Source == path) && o.ID() != r.ID()
				})
			})
			a := why.Explain(in, path)
			if id := a.ResourceID == r.ID(); alone && (!id || !fits(r.Status, a.Reason)) || !alone && a.ResourceID == "" {
				t.Errorf("%q: %+v, but there is %s, %s: %s", path, a, r.ID(), r.Status, r.Error)
			}
		}
	}
}

// checkNotes asks for the path of every note.
func checkNotes(t *testing.T, in why.Input) {
	t.Helper()
	for _, n := range in.Notes {
		a := why.Explain(in, n.Path)
		if string(a.Reason) == string(n.Reason) {
			continue
		}
		other := slices.ContainsFunc(in.Notes, func(o snapshot.Note) bool {
			return o.Path == n.Path && string(o.Reason) == string(a.Reason)
		})
		// What was found more than once, as the same thing, is found. So is what
		// another root or resolver made of the path.
		found := fitsAny(in, n.Path, a) && (n.Reason == snapshot.ReasonDeduplicated || n.Reason == snapshot.ReasonCollapsed)
		if !other && !found {
			t.Errorf("%q: %+v, but the note is %+v", n.Path, a, n)
		}
	}
}

// fitsAny reports whether an answer is the status of a resource that a run
// made at the path.
func fitsAny(in why.Input, path string, a why.Answer) bool {
	r := in.Snapshot.Find(a.ResourceID)
	if r == nil || !fits(r.Status, a.Reason) {
		return false
	}
	for i := range in.Runs {
		for _, c := range in.Runs[i].Candidates {
			if c.ID() == a.ResourceID && (c.Path == path || c.Source == path) {
				return true
			}
		}
	}
	return false
}

// checkTree asks for everything that there is, and for what there isn't. What
// is said to be in the context as a file must be there word for word.
func checkTree(t *testing.T, dir string, in why.Input) {
	t.Helper()
	_ = filepath.WalkDir(filepath.Dir(dir), func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // what can't be listed has been asked for
		}
		for _, p := range []string{path, path + "/", path + "/x", strings.ToUpper(path), path + "/../" + e.Name()} {
			a := why.Explain(in, p)
			checkAnswer(t, in, a)
			checkText(t, in, p, a)
		}
		return nil
	})
}

func checkText(t *testing.T, in why.Input, path string, a why.Answer) {
	t.Helper()
	if !a.Found {
		return
	}
	r := in.Snapshot.Find(a.ResourceID)
	path = filepath.Clean(path) // as the question is understood
	info, err := os.Stat(path)
	if err != nil {
		t.Errorf("%q is found: %v", path, err)
		return
	}
	if !info.Mode().IsRegular() || r == nil || r.Kind == abi.KindMCPConfig {
		return
	}
	if text, err := os.ReadFile(path); err != nil || !bytes.Equal(text, r.Payload) {
		t.Errorf("%q is said to be in the context as %s, which says something else", path, a.ResourceID)
	}
}

// generator makes trees that resolvers care about.
type generator struct{ *rand.Rand }

func pick[T any](g generator, list ...T) T { return list[g.IntN(len(list))] }

func (g generator) world() world {
	w := world{
		caps:    snapshot.Caps{MaxResources: pick(g, 0, 0, 1, 3), MaxListed: pick(g, 0, 0, 4), MaxBytes: pick[int64](g, 0, 0, 100)},
		exclude: pick(g, nil, nil, nil, []string{"lib/**"}, []string{"skills/one"}),
		roots:   pick(g, nil, nil, []rootSpec{{"", "", false}, {"skills", "", true}}, []rootSpec{{"lib", "", false}, {"", "", false}}, []rootSpec{{"lib", abi.RoleSkills, false}}),
	}
	lines := map[string]string{}
	for range 2 + g.IntN(14) {
		path := g.place()
		lines[path] = g.line(path)
	}
	// What has another in its way can't be built.
	for path := range lines {
		for other := range lines {
			if strings.HasPrefix(other, path+"/") {
				delete(lines, path)
			}
		}
	}
	for _, dir := range []string{"skills", "lib"} { // roots
		if _, ok := lines[dir]; !ok {
			w.tree = append(w.tree, dir+"/")
		} else {
			w.roots = nil
		}
	}
	w.tree = slices.AppendSeq(w.tree, maps.Values(lines))
	slices.Sort(w.tree) // the same for the same seed
	w.tree = append(w.tree, g.modes(w.tree)...)
	if g.IntN(4) == 0 {
		w.plugins = []resolve.Resolver{{Config: []byte(pick(g, `{"panic": "boom"}`, `{"row": ["command|docs/a.md|docs/a.md", "skill|docs/one|docs/one/SKILL.md", "instruction_file|docs|docs/a.md"]}`))}}
	}
	return w
}

// modes are lines that change the modes of what a tree makes, what lies in a
// directory first. Roots stay open: one that isn't has no run that could be asked.
func (g generator) modes(tree []string) (lines []string) {
	there := map[string]bool{}
	for _, line := range tree {
		if strings.Contains(line, " -> ") {
			continue
		}
		path, _, _ := strings.Cut(line, " = ")
		path, _, _ = strings.Cut(path, " # ")
		path = strings.TrimSuffix(strings.TrimSuffix(path, " |"), "/")
		for ; path != "." && path != "skills" && path != "lib"; path = filepath.Dir(path) {
			there[path] = true
		}
	}
	for _, path := range slices.Backward(slices.Sorted(maps.Keys(there))) {
		if g.IntN(4) == 0 {
			lines = append(lines, path+" ! "+pick(g, "000", "300", "400", "600", "100", "711", "644"))
		}
	}
	return lines
}

func (g generator) place() string {
	switch g.IntN(8) {
	case 0, 1:
		return pick(g, "AGENTS.md", "CLAUDE.md", ".cursorrules", "agents.md")
	case 2:
		return pick(g, ".mcp.json", ".env", "lib/x.md", "docs/a.md", "docs/one/SKILL.md", "lib/AGENTS.md")
	case 3:
		return pick(g, "skills", ".agents/skills", ".claude/skills", ".codex/skills", ".claude", "lib")
	case 4:
		return g.skill()
	}
	return g.skill() + "/" + pick(g, "SKILL.md", "SKILL.md", "SKILL.md", "skill.md", "notes/x.md")
}

func (g generator) skill() string {
	return pick(g, "skills", "skills", ".agents/skills", ".claude/skills", "lib") + "/" + pick(g, "one", "two", "three", "new\nline", "bad\xff")
}

func (g generator) line(path string) string {
	name := filepath.Base(filepath.Dir(path))
	switch g.IntN(9) {
	case 0, 1:
		return path + " -> " + pick(g, "AGENTS.md", "../AGENTS.md", "skills", "../skills", "../skills/one", "../../skills/two", "one", "..", "nothing", path,
			"$ROOT/skills/one", "$ROOT/AGENTS.md", "$OUT/secret.txt", "$OUT/dir", ".env", "../../.mcp.json", "../lib/x.md", "../../lib/one", "SKILL.md", "../one/SKILL.md")
	case 2:
		return path + pick(g, " |", " # 70000", " # 20000000", "/")
	case 3, 4, 5:
		return path + " = ---\nname: " + pick(g, name, name, name, "other") + "\n---\n" + pick(g, "", "body\n")
	}
	return path + " = " + pick(g, "", "text\n", "{}", "other text\n", strings.Repeat("long ", 14_000))
}
