package why_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"waymark/abi"
	"waymark/host/vfs"
	"waymark/host/why"
	"waymark/plugins/conventions"
	"waymark/snapshot"
	"waymark/test/contracts/vfstest"
	"waymark/test/testenv"
)

// own are conventions of a test, beside those that are built in.
var own = []conventions.Convention{
	{ID: "own-rules", Readers: []string{"acme"}, Places: []string{".acme/rules/**/*.md", ".acmerules-*"}, Scope: conventions.ScopeProject, Kind: abi.KindInstructionFile, As: "rules"},
	{ID: "own-skills", Readers: []string{"acme", "beta"}, Places: []string{".acme/skills/*/SKILL.md"}, Scope: conventions.ScopeProject, Kind: abi.KindSkill, As: "skills"},
	{ID: "own-ignore", Readers: []string{"acme"}, Places: []string{".acmeignore", ".acme/settings.json"}, Scope: conventions.ScopeProject, As: "ignore lists"},
	{ID: "own-hooks", Readers: []string{"acme"}, Places: []string{".acme/hooks.json"}, Scope: conventions.ScopeProject, Kind: abi.KindHook, As: "hooks"},
	{ID: "own-user", Readers: []string{"acme"}, Places: []string{".acme/user.md"}, Scope: conventions.ScopeUser, Kind: abi.KindCommand, As: "commands"},
	{ID: "own-shared", Readers: []string{"beta"}, Places: []string{".acme/rules/shared.md"}, Scope: conventions.ScopeProject, Kind: abi.KindInstructionFile, As: "rules"},
}

func open(t testing.TB, dir string, opts vfs.RootOptions) *vfs.Root {
	t.Helper()
	root, err := vfs.OpenRoot(dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return root
}

// spell is a report as text, with paths relative to a directory.
func spell(r *why.Coverage, dir string) string {
	var b strings.Builder
	for _, g := range r.Groups {
		fmt.Fprintf(&b, "%s: %s:", g.Reason, g.Text)
		for _, f := range g.Files {
			fmt.Fprintf(&b, " %s(%s)", strings.TrimPrefix(f.Path, dir+"/"), f.Convention)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestGroups(t *testing.T) {
	dir := vfstest.Build(t, []string{
		".acme/rules/a.md = a", ".acme/rules/deep/er/b.md = b", ".acme/rules/shared.md = s", ".acme/rules/c.txt = no", ".acmerules-x = x",
		".acme/skills/one/SKILL.md = 1", ".acme/skills/one/other.md = no", ".acme/skills/SKILL.md = no",
		".acmeignore = i", ".acme/settings.json = {}", ".acme/hooks.json -> other.json", ".acme/other.json = {}", ".acme/user.md = u",
		".acme/rules/dir.md/x = no", ".acme/rules/broken.md -> nothing", ".acme/rules/away.md -> $OUT/secret.txt", ".acme/rules/excluded.md = e",
		".acme/rules/.env/secret.md = s", "deep/.acmeignore = no",
	})
	root := open(t, dir, vfs.RootOptions{Exclude: []string{"**/excluded.md"}})
	dir = root.Path()
	everything := []abi.Kind{abi.KindInstructionFile, abi.KindSkill, abi.KindHook, abi.KindMCPConfig, abi.KindSubagent, abi.KindCommand, abi.KindPlugin}
	const misnamed = "misnamed: 1 file that agents would read by another name (rules): .acme/rules/c.txt(own-rules)\n"
	for _, test := range []struct {
		what string
		opts why.CoverageOptions
		want string
	}{
		{"all is used", why.CoverageOptions{Own: own, Kinds: everything},
			"no_kind: 2 files that no kind fits (ignore lists): .acme/settings.json(own-ignore) .acmeignore(own-ignore)\n" +
				misnamed},
		{"an agent is switched off", why.CoverageOptions{Own: own, Kinds: everything, Disabled: []string{"own-rules", "own-hooks", "own-ignore", "own-user"}},
			"switched_off: 4 files for agents that are switched off: .acme/hooks.json(own-hooks) .acme/rules/a.md(own-rules) .acme/rules/deep/er/b.md(own-rules) .acmerules-x(own-rules)\n" +
				"no_kind: 2 files that no kind fits (ignore lists): .acme/settings.json(own-ignore) .acmeignore(own-ignore)\n"},
		{"no resolver", why.CoverageOptions{Own: own[1:2], Kinds: everything[:1]}, "no_resolver: 1 file that no resolver lists (skills): .acme/skills/one/SKILL.md(own-skills)\n"},
		{"all is used, and known", why.CoverageOptions{Own: own[:2], Kinds: everything}, misnamed},
	} {
		if got := spell(why.CoverageOf([]why.CoverageRoot{{FS: root}, {FS: root}}, test.opts), dir); got != test.want {
			t.Errorf("%s:\ngot\n%swant\n%s", test.what, got, test.want)
		}
	}
}

// TestMisnamed: a file that lies among rules or commands, and is none by its name alone, is told
// of; one that is for people or programs isn't.
func TestMisnamed(t *testing.T) {
	root := open(t, vfstest.Build(t, []string{
		".cursor/rules/notes.md = n", ".cursor/rules/go.mdc = g", ".cursor/rules/deep/er.txt = e", ".cursor/rules/README.md = r", ".cursor/rules/run.sh = s",
		".github/instructions/go.md = g", ".github/instructions/web.instructions.md = w", "docs/notes.md = n",
	}), vfs.RootOptions{})
	report := why.CoverageOf([]why.CoverageRoot{{FS: root}}, why.CoverageOptions{Kinds: []abi.Kind{abi.KindInstructionFile}})
	const want = "misnamed: 3 files that agents would read by another name (rules): " +
		".cursor/rules/deep/er.txt(cursor-rules) .cursor/rules/notes.md(cursor-rules) .github/instructions/go.md(copilot-rules)\n"
	if got := spell(report, root.Path()); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	report = why.CoverageOf([]why.CoverageRoot{{FS: root}}, why.CoverageOptions{Kinds: []abi.Kind{abi.KindInstructionFile}, Disabled: []string{"cursor-rules", "copilot-rules"}})
	if got := spell(report, root.Path()); strings.Contains(got, "misnamed") {
		t.Errorf("of agents that are switched off: %s", got)
	}
}

// TestBuiltInTable: a file at a place of each row that is built in is told of when the row
// is switched off, or has no kind.
func TestBuiltInTable(t *testing.T) {
	var disabled []string
	for _, c := range conventions.All {
		disabled = append(disabled, c.ID)
	}
	// A name may be that of a file to one agent and of a directory to another: what has
	// no room in one root goes to the next.
	type tree struct {
		dir  string
		want map[string]bool
	}
	var trees []tree
	put := func(path string) bool {
		for _, w := range trees {
			if full := filepath.Join(w.dir, path); os.MkdirAll(filepath.Dir(full), 0o700) == nil && os.WriteFile(full, nil, 0o600) == nil {
				w.want[path] = true
				return true
			}
		}
		return false
	}
	for _, c := range conventions.All {
		if c.Scope != conventions.ScopeProject {
			continue
		}
		for _, place := range c.Places {
			path := strings.NewReplacer("/**/", "/", "*", "x").Replace(place)
			if put(path) {
				continue
			}
			if trees = append(trees, tree{t.TempDir(), map[string]bool{}}); !put(path) {
				t.Fatalf("%s can't be made", path)
			}
		}
	}
	for _, w := range trees {
		root := open(t, w.dir, vfs.RootOptions{})
		report := why.CoverageOf([]why.CoverageRoot{{FS: root}}, why.CoverageOptions{Disabled: disabled})
		for _, g := range report.Groups {
			for _, f := range g.Files {
				rel, err := filepath.Rel(root.Path(), f.Path)
				if err != nil || !w.want[rel] {
					t.Errorf("%s is told of, %v", f.Path, err)
				}
				delete(w.want, rel)
			}
		}
		for path := range w.want {
			t.Errorf("%s isn't told of", path)
		}
		if report.Partial {
			t.Error("not all was looked at")
		}
	}
}

// TestScopes: in a home directory the places for users count, in a project in the workspace
// those of projects; what a user's programs keep by the thousand isn't told of.
func TestScopes(t *testing.T) {
	dir := vfstest.Build(t, []string{
		"home/.acme/user.md = u", "home/.acme/rules/a.md = a project's", "home/.claude/plugins/installed_plugins.json = {}",
		"home/.claude/plugins/cache/m/p/1/README.md = r", "home/.claude/projects/p/memory/MEMORY.md = m",
		"work/a/.acmeignore = i", "work/a/.acme/user.md = u", "work/b/.acmeignore = i",
	})
	roots := []why.CoverageRoot{
		{FS: open(t, filepath.Join(dir, "home"), vfs.RootOptions{}), Scope: snapshot.ScopeUser},
		{FS: open(t, filepath.Join(dir, "work"), vfs.RootOptions{}), Children: []string{"a"}},
	}
	report := why.CoverageOf(roots, why.CoverageOptions{Own: own, Kinds: []abi.Kind{abi.KindSkill}})
	var got []string
	for _, g := range report.Groups {
		for _, f := range g.Files {
			rel, err := filepath.Rel(filepath.Dir(roots[0].FS.Path()), f.Path)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, string(g.Reason)+" "+rel)
		}
	}
	want := []string{"no_resolver home/.acme/user.md", "no_kind home/.claude/plugins/installed_plugins.json", "no_kind work/a/.acmeignore"}
	if !slices.Equal(got, want) || report.Partial {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// TestBounds: a place that stands for too much is looked at as far as the bounds go.
func TestBounds(t *testing.T) {
	deep := ".acme/rules/" + strings.Repeat("d/", 12) + "a.md"
	dir := vfstest.Build(t, []string{deep + " = a", ".acme/rules/loop -> .", ".acme/rules/a.md = a"})
	report := why.CoverageOf([]why.CoverageRoot{{FS: open(t, dir, vfs.RootOptions{})}}, why.CoverageOptions{Own: own})
	if !report.Partial || len(report.Groups) != 1 {
		t.Errorf("%+v", report)
	}
}

// TestAgainstMatching: what is found is what the patterns match of all files, whatever
// lies there.
func TestAgainstMatching(t *testing.T) {
	r := testenv.Rand(t)
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	for range 40 {
		dir := t.TempDir()
		var all []string
		for range 30 {
			var names []string
			for range 1 + r.IntN(4) {
				names = append(names, pick("a", "b", "ab", "a.md", "b.md", ".x"))
			}
			path := strings.Join(names, "/")
			full := filepath.Join(dir, path)
			if os.MkdirAll(filepath.Dir(full), 0o700) == nil && os.WriteFile(full, nil, 0o600) == nil {
				all = append(all, path)
			}
		}
		var c conventions.Convention
		c.ID, c.Scope = "c", conventions.ScopeProject
		for range 1 + r.IntN(4) {
			segments := []string{pick("a", "b", "a*", ".x", "*")}
			for range r.IntN(4) {
				segments = append(segments, pick("a", "*", "**", "*.md", "?.md", "a*"))
			}
			if segments[len(segments)-1] == "**" {
				segments = append(segments, "*")
			}
			c.Places = append(c.Places, strings.Join(segments, "/"))
		}
		root := open(t, dir, vfs.RootOptions{})
		var got []string
		for _, g := range why.CoverageOf([]why.CoverageRoot{{FS: root}}, why.CoverageOptions{Own: []conventions.Convention{c}}).Groups {
			for _, f := range g.Files {
				rel, _ := filepath.Rel(root.Path(), f.Path)
				got = append(got, rel)
			}
		}
		want := vfs.Matching(c.Places, all)
		slices.Sort(want)
		if want = slices.Compact(want); !slices.Equal(got, want) {
			t.Fatalf("%q of %q:\ngot  %q\nwant %q", c.Places, all, got, want)
		}
	}
}
